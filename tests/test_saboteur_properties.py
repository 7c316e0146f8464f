"""Random play of Saboteur: indices, conservation, the joined set, hidden information, bots."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify

import agents
import jaxgames
from jaxgames.cards import random_action
from jaxgames.saboteur import cells, mine
from jaxgames.saboteur.cards import COPIES, GOLD, MAP, NO_CARD, NUM_PATHS, ROCKFALL
from jaxgames.saboteur.observe import known_goals, known_places, type_counts
from jaxgames.saboteur.rules import held
from jaxgames.saboteur.state import FACE_DOWN, UNDECIDED
from tests.support import random_states

FULL = {"num_players": 3}
PATHS = {"variant": "paths", "num_players": 4}


@functools.cache
def make(**options):
    return jaxgames.make("saboteur", **options)


@functools.cache
def states_of(num_envs, num_steps, **options):
    return random_states(make(**options), jax.random.key(1), num_envs, num_steps)


def sound(env, state):
    """SB-6, SB-17: every card lies in exactly one place, and nuggets come from somewhere."""
    places = jnp.arange(env.num_cards)
    in_hand = (state.hand[:, :, None] == places).sum((0, 1))
    used = state.played_by != NO_CARD
    once = (in_hand + used + (places >= state.drawn) == 1).all()
    whole_deck = (type_counts(state, jnp.ones(env.num_cards, bool)) == COPIES[env.rules.deck][:27])[:NUM_PATHS].all()
    kinds = state.deck[state.round]
    laid = (used & (state.played_on != FACE_DOWN) & (kinds < NUM_PATHS)).sum()
    fallen = (used & (state.played_on != FACE_DOWN) & (kinds == ROCKFALL)).sum()
    on_board = cells.count(mine.survey(env.cells, state).loose)
    board_is_whole = on_board == laid - fallen
    closed_up = (jnp.diff((state.hand != NO_CARD).astype(jnp.int32)) <= 0).all()
    gold_left = (state.gold_drawn >= 0) & (state.gold_drawn <= 27)
    return once & whole_deck & board_is_whole & closed_up & gold_left & cells.is_empty(state.joined & ~state.through)


def checked_play(env, key, num_envs, num_steps):
    """Random play by `random_action` under index checks; ended games restart."""

    def game(key):
        def turn(carry, key):
            state, is_sound, finished = carry
            act_key, deal_key = jax.random.split(key)
            action = env.random_action(state, jax.random.bits(act_key, (), jnp.uint32))
            is_sound &= env.is_legal(state, action)
            state = env.step(state, action)
            is_sound &= sound(env, state)
            finished += state.done
            return (jaxgames.pick(state.done, env.init(deal_key), state), is_sound, finished), None

        start = (env.init(key), jnp.bool_(True), jnp.int32(0))
        return jax.lax.scan(turn, start, jax.random.split(key, num_steps))[0]

    play = jax.jit(jax.vmap(checkify.checkify(game, errors=checkify.index_checks)))
    error, (_, is_sound, finished) = play(jax.random.split(key, num_envs))
    return error, is_sound, finished


@pytest.mark.parametrize("options", [{"num_players": 10, "rounds": 2}, {**PATHS, "grid": "seed"}])
def test_random_games_stay_in_range_and_lose_no_card(options):
    error, is_sound, finished = checked_play(make(**options), jax.random.key(0), 32, 210)
    error.throw()
    assert np.asarray(is_sound).all()
    assert np.asarray(finished).sum() > 0


def reachable(grid, path):
    """SB-21 in plain Python: a flood fill from the start over path edges, bool[side, cell]; the set of cell ids."""
    steps = ((0, -1), (1, 0), (0, 1), (-1, 0))
    start = -grid.xmin * grid.rows - grid.ymin
    found, edge = {start}, [start]
    while edge:
        here = edge.pop()
        x, y = divmod(here, grid.rows)
        for side, (dx, dy) in enumerate(steps):
            if not path[side, here] or not (0 <= x + dx < grid.columns and 0 <= y + dy < grid.rows):
                continue
            there = here + dx * grid.rows + dy
            if path[(side + 2) % 4, there] and there not in found:
                found.add(there)
                edge.append(there)
    return found


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def rocky_games(env, key, num_envs, num_steps):
    """All states of random games where a card in seven is a rockfall and nobody discards while he can play."""

    def game(key):
        deal_key, rock_key, play_key = jax.random.split(key, 3)
        state = env.init(deal_key)
        rocks = jax.random.uniform(rock_key, state.deck.shape) < 1 / 7
        paths = jnp.where(state.deck < NUM_PATHS, state.deck, state.deck % 7)
        state = state.replace(deck=jnp.where(rocks, ROCKFALL, paths).astype(jnp.int8))

        def turn(state, key):
            legal = env.legal_factors(state)
            mask = env.legal_action_mask(state)
            digs = mask & (jnp.arange(env.num_actions) < env.first_tool_action)
            mask = jnp.where(~cells.is_empty(legal.cells).all(), digs, mask)
            state = env.step(state, random_action(key, mask))
            return state, state

        return jax.lax.scan(turn, state, jax.random.split(play_key, num_steps))[1]

    return jax.vmap(game)(jax.random.split(key, num_envs))


@functools.partial(jax.jit, static_argnums=0)
def spread(env, states):
    """Path edges and joined cards of a batch of states, one bool a cell."""
    return cells.unpack(env.cells, states.open & states.through[..., None, :]), cells.unpack(env.cells, states.joined)


def count_wrong_joined_sets(env, key, num_envs):
    """After every step of rocky games: how many states, and in how many the flood fill disagrees."""
    states = rocky_games(env, key, num_envs, 67)
    paths, joined = (np.asarray(x) for x in spread(env, states))
    wrong = sum(set(np.flatnonzero(joined[i])) != reachable(env.cells, paths[i]) for i in np.ndindex(joined.shape[:2]))
    return joined[..., 0].size, int(wrong)


def test_sb_21_joined_cards_are_those_a_flood_fill_reaches():
    """SB-21, SB-32: after every step of games full of rockfalls."""
    env = make(num_players=3, rounds=1)
    num_states, wrong = count_wrong_joined_sets(env, jax.random.key(5), 16)
    assert num_states == 16 * 67
    assert wrong == 0


def test_factors_mask_and_single_actions_agree():
    """SB-19, SB-20: three ways to ask what is legal."""
    env = make(**FULL)
    states = states_of(24, 200, **FULL)
    masks = np.asarray(jax.jit(jax.vmap(env.legal_action_mask))(states))
    rng = np.random.default_rng(0)
    some = np.stack(
        [np.concatenate([np.flatnonzero(m)[:40], rng.integers(0, env.num_actions, 60)])[:60] for m in masks]
    )
    ours = jax.jit(jax.vmap(jax.vmap(env.is_legal, in_axes=(None, 0))))(states, some.astype(np.int32))
    np.testing.assert_array_equal(ours, np.take_along_axis(masks, some, axis=1))


@pytest.mark.parametrize("options", [FULL, PATHS])
def test_random_actions_are_uniform(options):
    """Every legal action once in a sweep of equally spaced words, none but legal ones."""
    env = make(**options)
    states = states_of(24, 120, **options)
    picked = jax.tree.map(lambda leaf: leaf[::6], jax.device_get(states))
    masks = np.asarray(jax.jit(jax.vmap(env.legal_action_mask))(picked))
    words = (np.arange(4096, dtype=np.uint64) << 20).astype(np.uint32)
    chosen = np.asarray(
        jax.jit(jax.vmap(jax.vmap(env.random_action, in_axes=(None, 0)), in_axes=(0, None)))(picked, words)
    )
    for mask, actions in zip(masks, chosen, strict=True):
        ids, counts = np.unique(actions, return_counts=True)
        assert ids.tolist() == np.flatnonzero(mask).tolist()
        assert counts.max() - counts.min() <= 1


def test_random_actions_after_the_end_are_in_range():
    """Nobody holds a card: there is nothing to choose from, and still an action comes out."""
    env = make(**FULL)
    state = jax.tree.map(lambda leaf: leaf[0], jax.device_get(states_of(24, 200, **FULL)))
    over = state.replace(hand=np.full_like(state.hand, NO_CARD), terminated=np.bool_(True))
    words = np.array([0, 2**31, 2**32 - 1], np.uint32)
    actions = np.asarray(jax.jit(jax.vmap(env.random_action, in_axes=(None, 0)))(over, words))
    assert ((actions >= 0) & (actions < env.num_actions)).all()


@functools.partial(jax.jit, static_argnums=0)
def worlds_of(env, key, states):
    """One determinization for each state and seat, [env, seat, ...]."""
    seats = jnp.arange(env.num_players)

    def one(key, state):
        return jax.vmap(lambda k, seat: env.determinize(k, state, seat))(jax.random.split(key, env.num_players), seats)

    return jax.vmap(one)(jax.random.split(key, states.step_count.shape[0]), states)


@functools.partial(jax.jit, static_argnums=0)
def leaks(env, key, states):
    """bool[env, seat]: does a determinization change what its player sees, or any public fact?"""

    def seat_leaks(state, world, seat):
        same = [(env.observe(world, seat, v) == env.observe(state, seat, v)).all() for v in env.observation_versions]
        same.append((world.hand == state.hand).all() & (held(world, seat) == held(state, seat)).all())
        ours, theirs = env.legal_factors(state), env.legal_factors(world)
        equal = jnp.stack([(a == b).all() for a, b in zip(ours, theirs, strict=True)]).all()
        same.append(equal | (seat != state.current_player))
        known = known_goals(env, state, seat)
        same.append(jnp.where(known, world.goals[state.round] == state.goals[state.round], True).all())
        places = known_places(env, state, seat)
        same.append(jnp.where(places, world.deck[state.round] == state.deck[state.round], True).all())
        same.append(world.roles[state.round, seat] == state.roles[state.round, seat])
        whole = jnp.ones(env.num_cards, bool)
        same.append((type_counts(world, whole) == type_counts(state, whole)).all())
        same.append((jnp.sort(world.goals[state.round]) == jnp.sort(state.goals[state.round])).all())
        same.append(world.roles[state.round].sum() == state.roles[state.round].sum())
        used = jnp.arange(state.gold.shape[0]) < state.gold_drawn
        same += [
            (jnp.sort(jnp.where(part, world.gold, 0)) == jnp.sort(jnp.where(part, state.gold, 0))).all()
            for part in (used, ~used)
        ]
        return ~jnp.stack(same).all()

    worlds = worlds_of(env, key, states)
    seats = jnp.arange(env.num_players)
    return jax.vmap(lambda state, world: jax.vmap(seat_leaks, in_axes=(None, 0, 0))(state, world, seats))(
        states, worlds
    )


@pytest.mark.parametrize("options", [FULL, PATHS])
def test_sb_50_a_determinization_keeps_what_its_player_sees(options):
    """SB-50: observations, legal actions and every public fact stay."""
    env = make(**options)
    assert not np.asarray(leaks(env, jax.random.key(2), states_of(48, 200, **options))).any()


def test_sb_50_a_determinization_redraws_everything_else():
    """SB-50: deck, goals, roles, gold and later rounds all change; the roles of rounds that are over do not."""
    env = make(**FULL)
    states = states_of(48, 200, **FULL)
    worlds = worlds_of(env, jax.random.key(3), states)
    first = np.asarray(states.round) == 0
    for name in ("deck", "goals", "roles", "gold"):
        ours, theirs = np.asarray(getattr(worlds, name)), np.asarray(getattr(states, name))[:, None]
        assert (ours != theirs).any(), name
    for name in ("deck", "goals", "roles"):
        future = (
            np.asarray(getattr(worlds, name))[first][:, :, 1:] != np.asarray(getattr(states, name))[first][:, None, 1:]
        )
        assert future.mean() > 0.2, name
    # SB-36: all roles of a round are known once it is over.
    over = np.asarray(states.winners) != UNDECIDED  # [state, round]
    assert over.any()
    known, drawn = np.asarray(states.roles), np.asarray(worlds.roles).swapaxes(1, 2)  # [state, round, seat, card]
    assert (drawn == known[:, :, None])[over].all()


def test_sb_50_a_determinization_is_uniform():
    """SB-50: over 2,000 worlds every hidden card is about as often in every hidden place."""
    env = make(**FULL)
    state, draw = jax.jit(env.init)(jax.random.key(0)), jax.jit(jax.vmap(env.determinize, (0, None, None)))
    worlds = jax.device_get(draw(jax.random.split(jax.random.key(1), 2000), state, 0))
    gold_at = (np.asarray(worlds.goals[:, 0]) == GOLD).mean(0)
    np.testing.assert_allclose(gold_at, 1 / 3, atol=0.06)
    others = np.asarray(worlds.roles[:, 0, 1:])  # one saboteur card, perhaps the player's own
    np.testing.assert_allclose(others.mean(0), others.mean(), atol=0.06)
    nuggets, kinds = np.asarray(worlds.gold, float), np.asarray(worlds.deck[:, 0], float)
    hidden = kinds[:, 6:]
    for values in (nuggets, hidden):
        error = values.std() / np.sqrt(2000)
        np.testing.assert_allclose(values.mean(0), values.mean(), atol=5 * error)
        np.testing.assert_allclose(values.std(0), values.std(), rtol=0.15)
    assert (kinds[:, :6] == np.asarray(state.deck[0, :6])).all()
    assert len(np.unique(hidden, axis=0)) == 2000


def shuffled(rng, values, hidden):
    """A copy of `values` with those marked in `hidden` in another order."""
    values = values.copy()
    values[hidden] = rng.permutation(values[hidden])
    return values


def scrambled(env, state, player, rng):
    """The state with everything mixed up that `player` cannot see (the table of section 11), in plain numpy."""
    now, n = int(state.round), env.num_players
    places = np.arange(env.num_cards)
    is_open = (state.played_by >= 0) & ((state.played_on != FACE_DOWN) | (state.played_by == player))
    knows_card = is_open | np.isin(places, state.hand[player])
    kinds = state.deck[now]
    looks = [place for place in places if kinds[place] == MAP and state.played_by[place] == player]
    looked = {int(state.played_on[place]) for place in looks if state.played_on[place] != FACE_DOWN}
    face_up = np.asarray(mine.turned_goals(env.cells, state))
    knows_goal = np.array([face_up[i] or i in looked for i in range(3)])
    deck, goals, roles = state.deck.copy(), state.goals.copy(), state.roles.copy()
    for i in range(env.rules.rounds):
        is_now, is_over = i == now, state.winners[i] != UNDECIDED
        deck[i] = shuffled(rng, deck[i], ~knows_card if is_now else np.ones(env.num_cards, bool))
        goals[i] = shuffled(rng, goals[i], ~knows_goal if is_now else np.ones(3, bool))
        if not is_over:
            roles[i] = shuffled(rng, roles[i], np.arange(n + 1) != player if is_now else np.ones(n + 1, bool))
    is_used = np.arange(len(state.gold)) < state.gold_drawn
    gold = shuffled(rng, shuffled(rng, state.gold, is_used), ~is_used)
    return state.replace(deck=deck, goals=goals, roles=roles, gold=gold)


SIZES = [FULL, {}, {"num_players": 10, "rounds": 2}, PATHS, {"variant": "paths", "num_players": 2, "grid": "seed"}]


@pytest.mark.parametrize("options", SIZES, ids=str)
def test_sb_50_a_determinization_does_not_look_at_what_is_hidden(options):
    """SB-50: states that a player cannot tell apart have the same worlds for the same key, leaf by leaf."""
    env, count = make(**options), 24
    states = jax.device_get(states_of(count, env.max_steps, **options))
    states = states.replace(gold_drawn=states.round * np.int8(env.gold_per_round))  # random players find no gold
    rng = np.random.default_rng(0)
    each = [jax.tree.map(lambda leaf, i=i: leaf[i], states) for i in range(count)]
    pairs = [(state, scrambled(env, state, seat, rng)) for state in each for seat in range(env.num_players)]
    given, hidden = (jax.tree.map(lambda *leaves: np.stack(leaves), *side) for side in zip(*pairs, strict=True))
    assert any((a != b).any() for a, b in zip(jax.tree.leaves(given), jax.tree.leaves(hidden), strict=True))
    seats = jnp.tile(jnp.arange(env.num_players), count)
    keys = jax.random.split(jax.random.key(6), len(pairs))
    worlds = jax.jit(jax.vmap(env.determinize))
    chex.assert_trees_all_equal(worlds(keys, given, seats), worlds(jax.random.clone(keys), hidden, seats))


@pytest.mark.parametrize("options", SIZES, ids=str)
def test_legal_actions_have_names_of_their_own(options):
    """Equal cards in two slots, symmetric cards turned, two cards that mend one tool: all names differ."""
    env, count = make(**options), 24
    states = jax.device_get(states_of(count, env.max_steps, **options))
    masks = np.asarray(jax.jit(jax.vmap(env.legal_action_mask))(states))
    for i, mask in enumerate(masks):
        state = jax.tree.map(lambda leaf, i=i: leaf[i], states)
        names = [env.action_name(state, action) for action in np.flatnonzero(mask)]
        assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
        assert max(map(len, names)) <= 60
        own = [env.action_name(state, action, int(state.current_player)) for action in np.flatnonzero(mask)]
        assert own == names


@pytest.mark.parametrize(
    ("options", "name"),
    [(FULL, "random"), (FULL, "role_greedy"), (PATHS, "random"), (PATHS, "rule_based"), (PATHS, "rule_based_rot")],
)
def test_bots_choose_legal_actions_and_do_not_peek(options, name):
    """Section 17: the same action in every world that the player cannot tell from this one."""
    env = make(**options)
    states = states_of(48, 200, **options)
    act = agents.make(name, env)

    @jax.jit
    def choices(keys, states):
        return jax.vmap(lambda k, s: act(k, s, s.current_player.astype(jnp.int32)))(keys, states)

    keys = jax.random.split(jax.random.key(8), 48)
    actions = choices(keys, states)
    assert np.asarray(jax.jit(jax.vmap(env.is_legal))(states, actions)).all()
    worlds = jax.jit(jax.vmap(lambda k, s: env.determinize(k, s, s.current_player)))(keys, states)
    np.testing.assert_array_equal(choices(keys, worlds), actions)


def test_agents_refuse_the_other_variant():
    with pytest.raises(ValueError, match="role_greedy plays the variant 'full', got 'paths'"):
        agents.make("role_greedy", make(**PATHS))
    with pytest.raises(ValueError, match="rule_based plays the variant 'paths', got 'full'"):
        agents.make("rule_based", make(**FULL))
    assert agents.rule_based(make(**PATHS)) is not None


def test_observation_layout_names_every_number():
    """Section 12: offsets and sizes."""
    env = make()
    layout = env.layout()
    assert layout["board"] == (slice(0, 2200), (100, 22))
    assert layout["hand"] == (slice(2200, 2332), (6, 22))
    assert layout["action_cards"].slice == slice(2332, 2398)
    assert layout["players"] == (slice(2414, 2414 + 70), (5, 14))
    assert layout["accounted"].slice.stop == 2441 + 14 * 5 + 2 * 25
    assert list(env.layout("seed")) == ["board", "hand"]
    assert env.observation_shape("seed") == (2332,)


@pytest.mark.parametrize("options", [FULL, {**PATHS, "dist_reward_scale": 1.0}], ids=str)
def test_types_do_not_widen_under_x64(options):
    """Every answer has the same dtypes with 64-bit types enabled."""
    env = make(**options)
    bots = [agents.make(name, env) for name in ("random", "rule")]

    def answers(key, state, word):
        seat = state.current_player.astype(jnp.int32)
        return (
            [env.view(state, seat, version) for version in env.observation_versions],
            [env.deal(key), env.step(state, 5), env.determinize(key, state, seat)],
            [env.legal_factors(state), env.random_action(state, word), env.snap(state, (0, 1.0, 2.0, 1, 0))],
            [env.scores(state), env.winners(state), *(act(key, state, seat) for act in bots)],
        )

    def types():
        key = jax.eval_shape(lambda: jax.random.key(0))
        word = jax.ShapeDtypeStruct((), jnp.uint32)
        return jax.eval_shape(answers, key, jax.eval_shape(env.init, key), word)

    narrow = types()
    with jax.enable_x64(True):
        assert types() == narrow


def test_render_hides_what_the_player_cannot_know():
    env = make(**FULL)
    state = jax.tree.map(lambda leaf: leaf[0], jax.device_get(states_of(48, 200, **FULL)))
    everything, mine_alone = env.render(state), env.render(state, player=1)
    assert "saboteur" in everything
    assert "$" in everything
    assert "$" not in mine_alone
    assert mine_alone.count("6 cards") == 2
