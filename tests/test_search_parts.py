"""The parts of searches against plain references, in games that compile in no time."""

import dataclasses
import functools
import itertools
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from agents import checkpoints, inference, networks, worlds
from agents.networks import Model, Output
from agents.search import draws, endgame, guided, moves, playout, tree
from agents.search.pimc import read_search, search_worlds
from agents.search.rollouts import gains, roll_out, rollouts
from agents.skullking import rule_based
from jaxgames.options import UserError
from jaxgames.saboteur import SaboteurEnv
from jaxgames.saboteur.state import MINERS, SABOTEURS, UNDECIDED
from jaxgames.skullking.cards import BID, BID_TABLE, PLAYING
from tests import plain_search, sixth_game
from tests.sixth_game import BET, PASS, KuhnEnv

KUHN = KuhnEnv()


class Opinionated(Model):
    """Kuhn poker: whatever is seen says something about what to do and what it is worth."""

    def read(self, params, view):
        heads = view @ jnp.sin(jnp.arange(18.0)).reshape(9, 2)
        return Output(heads, view @ jnp.cos(jnp.arange(9.0)), {}, view)


class Undecided(Model):
    """Kuhn poker: anything is as good as anything else."""

    def read(self, params, view):
        return Output(jnp.zeros(2), jnp.float32(0), {}, view)


def kuhn(deck, *said):
    state = KUHN.init(jax.random.key(0), deal={"deck": deck})
    for action in said:
        state = KUHN.step(state, action)
    return state


def together(states):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


# -- trees ------------------------------------------------------------------------------------------------------------


def timid_actions(env, state):
    """Nobody bets with a jack."""
    return jnp.arange(2) < jnp.where(state.deck[state.current_player] == 0, 1, 2)


class TimidKuhnEnv(KuhnEnv):
    """What is legal in one world is not in another."""

    id = "timid"
    rooms = KuhnEnv.rooms._replace(
        rules=types.SimpleNamespace(legal_actions=timid_actions, play=sixth_game.play),
    )


@pytest.mark.parametrize("redraws", [False, True])
def test_a_tree_in_worlds_of_every_simulation_is_that_of_a_plain_loop(redraws):
    """Tried actions that are not legal in the world at hand are passed over, and those that are new there are tried."""
    env = TimidKuhnEnv()
    search = tree.Search(24, 0.7, 2.0, playout.random_choice(env), playout.points(env), redraws=redraws)

    def begin(key, state):
        return env.determinize(key, state, 0) if redraws else state

    @jax.jit
    @jax.vmap
    def grow(state, key):
        return tree.root_visits(env, tree.grow(env, search, lambda key: begin(key, state), key))

    begin_one = jax.jit(begin)
    roots = [kuhn(deck) for deck in itertools.permutations(range(3))]
    keys = jax.random.split(jax.random.key(0), len(roots))
    with jax.debug_key_reuse(True):
        found = np.asarray(grow(together(roots), jax.random.clone(keys)))
    for root, key, visits in zip(roots, keys, found, strict=True):
        # Half of every payoff and half of the exploration choose as both whole ones do.
        plain = plain_search.uct(env, lambda key, root=root: begin_one(key, root), key, 24, 2 * 0.7)
        assert {int(a): int(visits[a]) for a in np.flatnonzero(visits)} == plain


def test_a_tree_that_a_network_guides_is_that_of_a_plain_loop():
    """Visits and returns of both choices in every deal, after every word: priors, values of all seats, rewards in the
    network's scale, and hopes on a scale from the worst to the best."""
    guide, simulations, exploration = guided.Guide(Opinionated(KUHN, None, "cards"), None, KUHN, 0.3), 24, 1.25
    observe, step = jax.jit(KUHN.observe), jax.jit(KUHN.step)

    @functools.cache
    def look(position):
        """Every seat judges by its own view; the policy is that of who is to move."""
        state = position_of(position)
        said = [guide.model.read(None, observe(state, seat)) for seat in range(2)]
        likely = np.exp(said[int(state.current_player)].heads)
        value = np.array([each.value for each in said])
        return int(state.current_player), bool(state.terminated), likely / likely.sum(), value

    @functools.cache
    def position_of(position):
        deck, said = position
        return step(position_of((deck, said[:-1])), said[-1]) if said else kuhn(deck)

    def play(position, choice):
        after = (position[0], (*position[1], choice))
        return after, 0.3 * np.asarray(KUHN.scores(position_of(after)))

    roots = [(deck, said) for deck in itertools.permutations(range(3)) for said in ((), (PASS,), (BET,))]

    @jax.jit
    @jax.vmap
    def grow(state):
        grown = guided.grow(KUHN, guide, lambda key: state, jax.random.key(0), simulations, exploration)
        is_first = (grown.parent == 0) & (grown.choice == jnp.arange(2)[:, None])
        return (is_first * grown.visits).sum(-1), (is_first[:, None] * grown.total).sum(-1)

    visits, totals = map(np.asarray, grow(together([position_of(root) for root in roots])))
    for root, its_visits, its_totals in zip(roots, visits, totals, strict=True):
        plain = plain_search.puct(root, look, play, simulations, exploration)
        for choice in (PASS, BET):
            count, total = plain.get(choice, (0, np.zeros(2)))
            assert its_visits[choice] == count, (root, plain)
            np.testing.assert_allclose(its_totals[choice], total, atol=1e-4)


@dataclasses.dataclass(frozen=True, eq=False)
class StakesKuhnEnv(KuhnEnv):
    """Kuhn poker for any money."""

    id = "stakes"
    rooms = KuhnEnv.rooms._replace(
        rewards=types.SimpleNamespace(payment=lambda env, *turn: env.stake * sixth_game.payment(env, *turn)),
    )
    stake: int = 1


def test_a_tree_is_paid_as_its_network_was_whatever_the_table_plays_for():
    env = StakesKuhnEnv()

    @functools.partial(jax.jit, static_argnums=(0, 1))
    def total(stake, scale):
        guide = guided.Guide(Opinionated(env, None, "cards"), None, StakesKuhnEnv(stake=stake), scale)
        return guided.grow(env, guide, lambda key: kuhn((0, 2, 1), BET), jax.random.key(0), 6, 1.25).total

    np.testing.assert_allclose(total(5, 0.2), total(1, 1.0), atol=1e-5)
    assert not np.allclose(total(5, 1.0), total(1, 1.0))


def test_a_guide_brings_the_rewards_that_its_network_learned_from_and_their_scale(monkeypatch):
    """The table keeps all its other options."""
    learned = {"options": {"num_players": 7, "reward": "team", "rounds": 1}, "reward_scale": 0.25}
    monkeypatch.setattr(networks, "load_honest", lambda network, env: ("model", "params"))
    monkeypatch.setattr(checkpoints, "find", lambda network: network)
    monkeypatch.setattr(checkpoints, "read_manifest", lambda folder: learned)
    env = jaxgames.make("saboteur", num_players=4, rounds=2)
    guide = guided.load_guide("somebody", env)
    assert (guide.model, guide.params, guide.scale) == ("model", "params", 0.25)
    assert guide.rewards == dataclasses.replace(env, reward="team")
    del learned["reward_scale"]
    assert guided.load_guide("somebody", env).scale == 1.0


class Leaning(Model):
    """Kuhn poker: rather bet."""

    def read(self, params, view):
        return Output(jnp.array([0.0, 0.1]), jnp.float32(0), {}, view)


def test_of_choices_with_as_many_visits_the_network_has_its_way():
    guide = guided.Guide(Leaning(KUHN, None, "cards"), None, KUHN, 1.0)
    act = guided.guided(KUHN, guide, 1, 2, 100.0, draws.legal(KUHN))  # so curious that both are tried once
    assert int(jax.jit(act)(jax.random.key(0), kuhn((0, 1, 2)), 0)) == BET


# -- moves ------------------------------------------------------------------------------------------------------------


def test_the_moves_of_saboteur_are_its_legal_actions_and_no_others():
    """An action whose cell nobody points at is none of the choices, though its number leads to one."""
    env = jaxgames.make("saboteur", variant="paths", num_players=2, goal_x=2)

    @jax.jit
    def both(key):
        state = env.init(key)
        every = jnp.arange(env.num_actions)
        return moves.find_moves(env, moves.moves_of(env, state), every), env.legal_action_mask(state)

    found, legal = both(jax.random.key(0))
    np.testing.assert_array_equal(found != moves.NO_MOVE, legal)
    assert len(set(found[legal].tolist())) == legal.sum()


def test_the_last_tricks_begin_when_the_one_before_is_complete():
    def ends(played, tricks):
        cards = np.where(np.arange(32) < played, 0, -1).reshape(8, 4)
        return bool(endgame.is_endgame(types.SimpleNamespace(played=jnp.asarray(cards)), tricks))

    assert [ends(played, 2) for played in (23, 24, 25, 32)] == [False, True, True, True]
    assert [ends(played, 1) for played in (27, 28)] == [False, True]


# -- worlds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["plainly", "guided"])
def test_a_likelier_world_has_more_to_say(how):
    """Kuhn poker, a queen facing a bet: it calls if the other probably holds the jack, and folds to a king."""

    @functools.partial(jax.jit, static_argnums=0)
    def decide(likely):
        def draw(key, state, player):
            world = KUHN.determinize(key, state, player)
            return world, jnp.where(world.deck[0] == likely, 0.0, -6.0)

        if how == "plainly":
            search = tree.Search(16, 1.0, 1.0, playout.random_choice(KUHN), playout.points(KUHN))
            act = search_worlds(KUHN, search, 16, draw)
        else:
            guide = guided.Guide(Undecided(KUHN, None, "cards"), None, KUHN, 1.0)
            act = guided.guided(KUHN, guide, 16, 16, 1.25, draw)
        return act(jax.random.key(0), kuhn((0, 1, 2), BET), 1)

    assert (int(decide(0)), int(decide(2))) == (BET, PASS)


@pytest.mark.parametrize("game", jaxgames.games())
def test_where_chance_follows_on_a_move_no_simulation_knows_what_it_will_say(game):
    """Skyjo and Saboteur draw cards after a move; in the other games a deal decides everything until its end."""
    search = read_search(jaxgames.make(game), 4, 1.0, 1.0, "random")
    assert search.redraws == (game in ("skyjo", "saboteur"))


class SeesAll(Model):
    """Kuhn poker: bets against a jack nearly always, against a king every other time."""

    def look(self, state, seat):
        return state.deck[1 - seat]

    def read(self, params, view):
        bets = jnp.where(view == 0, 0.98, 0.5)
        return Output(jnp.log(jnp.stack([1 - bets, bets])), jnp.float32(0), {}, jnp.zeros(0))


def test_who_plays_on_drawn_worlds_chooses_by_their_mean_probability(monkeypatch):
    """A queen that knows nothing bets with (0.98 + 0.5) / 2; its likeliest action is always that one."""
    monkeypatch.setattr(networks, "load", lambda path, env: (SeesAll(env, None, "cards"), None))
    state, keys = kuhn((1, 2, 0)), jax.random.split(jax.random.key(0), 400)
    for style, share in (("sampled", 0.74), ("greedy", 1.0)):
        act = worlds.worlds(KUHN, "anything", 32, style)
        bets = jax.jit(jax.vmap(lambda key, act=act: act(key, state, 0)))(keys)
        assert float(bets.mean()) == pytest.approx(share, abs=0.07)


# -- rollouts ---------------------------------------------------------------------------------------------------------


def test_rollouts_keep_the_likeliest_and_the_better_half_in_ever_more_worlds(monkeypatch):
    """A world is a number, and what an action is worth in it stands in a table: the choice is that of a plain loop."""
    table = 5 * np.sin(1 + np.arange(80.0) ** 1.5).reshape(16, 5)  # [world, place of action]
    table = jnp.asarray(table - [2, 0, 0, 0, 0], jnp.float32)  # the network's favourite is seldom the best
    likely, ids = jnp.array([0.24, 0.22, 0.2, 0.18, 0.16]), jnp.array([7, 3, 9, 1, 4])
    monkeypatch.setattr(playout, "step", lambda env, world, action: (world, jnp.argmax(ids == action)))
    monkeypatch.setattr(playout, "play_on", lambda env, choose, root, state, key: state)
    monkeypatch.setattr(
        networks, "likeliest", lambda model, params, state, player, count: (likely[:count], ids[:count])
    )

    def draw(key, state, player):
        world = jax.random.randint(key, (), 0, 16)
        return world, 0.1 * world

    num_worlds, margin = 8, 0.5
    payoff = lambda root, end: jnp.stack([jnp.float32(0), table[end]])  # noqa: E731
    act = roll_out(None, None, None, num_worlds, 5, margin, draw, None, None, payoff)
    keys = jax.random.split(jax.random.key(0), 24)
    chosen = jax.jit(jax.vmap(lambda key: act(key, None, 1)))(keys)

    def plain(key):
        drawn, weights = draws.several(draw, jax.random.split(key)[0], None, 1, num_worlds)
        places = np.arange(5)
        for count, seen in ((5, 2), (3, 4), (2, 8)):
            places = places[:count]
            worth = table[drawn[:seen]][:, places]
            gain = np.asarray(gains(worth, weights[:seen], likely[places], margin))
            order = [0, *(1 + np.argsort(-gain[1:], kind="stable"))]
            places, gain = places[order], gain[order]
        return int(ids[places[np.argmax(gain)]])

    expected = [plain(key) for key in keys]
    assert chosen.tolist() == expected
    assert len(set(expected)) > 1


def test_a_spec_of_rollouts_says_who_plays_on_for_what_and_in_which_worlds(monkeypatch):
    """Rivals are expected to bid as they play, and known by their bids."""
    env, here = few_cards(), sys.modules[rollouts.__module__]
    for module, name, stand_in in (
        (networks, "load_honest", lambda network, env: (network, "params")),
        (networks, "network_agent", lambda model, params, greedy: "greedily" if greedy else "by chance"),
        (playout, "agent_choice", lambda agent: f"itself {agent}"),
        (playout, "points", lambda env: "points"),
        (playout, "wins", lambda env: "wins"),
        (draws, "legal", lambda env: "any"),
        (draws, "sensible", lambda env, draw, choose: f"{draw}, bids as {choose}"),
        (inference, "by_bids", lambda env, choose: f"likely for {choose}"),
        (inference, "by_policy", lambda env, model, params: f"likely for {model}"),
        (here, "decider", lambda env, spec: spec),
        (here, "roll_out", lambda *arguments: arguments),
    ):
        monkeypatch.setattr(module, name, stand_in)

    def said(options):
        return rollouts(env, "net", **options).think[3:]

    me, worlds = "itself by chance", "any, bids as itself by chance"
    assert said({}) == (64, 4, 0.5, worlds, me, me, "points", 1)
    numbers = {"worlds": "8", "actions": "2", "margin": "1", "candidates": "3"}
    assert said(numbers) == (8, 2, 1.0, worlds, me, me, "points", 3)
    bids = {"rivals": "rule", "belief": "bids", "aim": "wins", "style": "greedy"}
    expected = ("likely for rule, bids as rule", "itself greedily", "rule", "wins")
    assert said(bids)[3:-1] == expected
    assert said({"belief": "policy"})[3] == f"likely for net, bids as {me}"


def few_cards():
    """Skull King for three, rounds of one and two cards."""
    return jaxgames.make("skullking", num_players=3, hand_sizes=(1, 2))


def highest(env):
    """Always the legal action with the highest id."""
    return lambda state, key, number: env.num_actions - 1 - jnp.argmax(env.legal_action_mask(state)[::-1])


def test_worlds_that_wait_for_the_players_turn_end_as_those_that_do_not():
    env = few_cards()
    own, others = playout.random_choice(env), highest(env)
    roots = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 16))
    keys = jax.random.split(jax.random.key(1), 16)

    def ends(root, key, player):
        by_seat = lambda s, k, n: jnp.where(s.current_player == player, own(s, k, n), others(s, k, n))  # noqa: E731
        waiting = playout.play_on_at(env, player, own, others, root, root, key)
        return waiting, playout.play_on(env, by_seat, root, root, key)

    waiting, plain = jax.jit(jax.vmap(ends))(roots, keys, jnp.arange(16) % 3)
    jax.tree.map(np.testing.assert_array_equal, waiting, plain)
    assert (waiting.round == 1).all()
    assert len(np.unique(waiting.total, axis=0)) > 1


def test_bids_made_in_secret_are_those_of_the_hands_in_the_world():
    """Two of three have bid; the third expects of each the bid that fits the hand it holds in that world."""
    env = jaxgames.make("skullking", num_players=3, hand_sizes=(4,))
    exact = playout.agent_choice(rule_based(env, "exact"))
    state = env.init(jax.random.key(0))
    leader = int(state.current_player)
    for tricks in (4, 3):
        state = env.step(state, BID + tricks)
    last = int(state.current_player)
    draw = draws.sensible(env, lambda *given: (draws.legal(env)(*given)[0], jnp.float32(-5)), exact)
    worlds, weights = jax.vmap(draw, (0, None, None))(jax.random.split(jax.random.key(1), 64), state, last)
    expected = (np.asarray(BID_TABLE)[worlds.hand].sum(-1) + 50) // 100
    others = [seat for seat in range(3) if seat != last]
    np.testing.assert_array_equal(worlds.bids[:, others], np.clip(expected, 0, 4)[:, others])
    assert (worlds.bids[:, last] == -1).all()
    assert (weights == 0).all()  # drawn as expected: no weight
    assert len(np.unique(worlds.bids[:, leader])) > 1

    state = env.step(state, BID)  # all bids are revealed
    worlds, weights = jax.vmap(draw, (0, None, None))(jax.random.split(jax.random.key(1), 4), state, last)
    np.testing.assert_array_equal(worlds.bids, np.tile(state.bids, (4, 1)))
    assert (weights == -5).all()


def test_bids_made_in_secret_are_skull_kings_alone():
    draw = draws.legal(KUHN)
    assert draws.sensible(KUHN, draw, None) is draw


# -- what a stretch of play is worth ----------------------------------------------------------------------------------

STRETCHES = {"skullking": "round", "skyjo": "round_index", "saboteur": "round", "magictrick": "hand_index"}


def test_points_are_those_gained_above_the_mean_of_the_others_and_in_skyjo_below_it():
    def worth(game):
        env = types.SimpleNamespace(id=game, num_players=3, scores=lambda state: state)
        return playout.points(env)(np.array([1, 2, 3]), np.array([5, 2, 9])).tolist()

    assert {game: worth(game) for game in STRETCHES} == {
        "skullking": [1, -5, 4],
        "skyjo": [-1, 5, -4],
        "saboteur": [1, -5, 4],
        "magictrick": [1, -5, 4],
    }


def test_wins_are_shared_at_the_end_and_expected_by_the_lead_before():
    env = jaxgames.make("skullking", num_players=3, hand_sizes=(2, 7, 9))
    state = env.init(jax.random.key(0))

    def worth(total, number, **more):
        end = state.replace(total=jnp.array(total, jnp.int16), round=jnp.int8(number), **more)
        return playout.wins(env)(state, end)

    scored = {"terminated": jnp.bool_(True), "tricks": jnp.int8(9), "phase": jnp.int8(PLAYING)}

    np.testing.assert_allclose(worth([30, 50, 50], 2, **scored), [0, 0.5, 0.5])
    np.testing.assert_allclose(worth([40, 40, 40], 2), [0.25] * 3)
    # Nine cards to come: 20 sqrt(9) = 60 points are one standard deviation.
    np.testing.assert_allclose(worth([60, 0, 0], 2)[0], 0.8413**2, atol=1e-3)
    np.testing.assert_allclose(worth([60, 0, 0], 2)[1], 0.1587 * 0.5, atol=1e-3)
    np.testing.assert_allclose(worth([80, 0, 0], 1)[0], 0.8413**2, atol=1e-3)  # sixteen cards to come
    with pytest.raises(UserError, match="aim=wins"):
        playout.wins(KUHN)


def test_saboteurs_win_by_role_and_diggers_of_paths_share_the_gold():
    """SB-45 without its sign; whoever took the nuggets. In paths what the others get is not held against them."""
    env = jaxgames.make("saboteur", num_players=3)
    roles = jnp.zeros((3, 4), bool).at[1, 2].set(True)
    root = types.SimpleNamespace(round=1, roles=roles)
    for winner, expected in ((MINERS, [1, 1, 0]), (SABOTEURS, [0, 0, 1])):
        end = types.SimpleNamespace(round=2, winners=jnp.array([MINERS, winner, UNDECIDED]))
        assert playout.wins(env)(root, end).tolist() == expected
    assert [playout.side_of(env, root, player).tolist() for player in (0, 2)] == [[1, 1, 0], [0, 0, 1]]
    assert playout.side_of(KUHN, root, 1).tolist() == [False, True]

    paths = jaxgames.make("saboteur", variant="paths", num_players=2)
    start, end = (types.SimpleNamespace(scores=jnp.array(scores)) for scores in ([0, 0], [9, 10]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SaboteurEnv, "scores", lambda env, state: state.scores)
        assert playout.points(paths)(start, end).tolist() == [9, 10]
    with pytest.raises(UserError, match="aim=wins"):
        playout.wins(paths)


@pytest.mark.parametrize("game", jaxgames.games())
def test_a_stretch_of_play_ends_with_its_round_or_with_the_game(game):
    env = jaxgames.make(game)
    names = {field.name for field in dataclasses.fields(jax.eval_shape(env.init, jax.random.key(0)))}
    assert STRETCHES.get(game, "done") in {*names, "done"}

    def is_over(number, done):
        root, state = (
            types.SimpleNamespace(done=np.bool_(d), **{STRETCHES.get(game, "number"): n})
            for n, d in ((2, False), (number, done))
        )
        return bool(playout.is_over(env, root, state))

    assert not is_over(2, False)
    assert is_over(2, True)
    assert is_over(3, False) == (game in STRETCHES)
