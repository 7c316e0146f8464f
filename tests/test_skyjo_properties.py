"""What must hold for every Skyjo game: no card is lost, chance is fair and settled, worlds are honest."""

import functools
import hashlib
import subprocess
import sys

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from agents.skyjo import HEURISTICS
from jaxgames import vector
from jaxgames.skyjo.cards import COPIES, MIN_VALUE, NUM_VALUES, VALUES, Hand, Slot, num_dealt
from jaxgames.skyjo.chance import draw_order, prepare_next_deck
from jaxgames.skyjo.facts import in_draw_pile
from jaxgames.skyjo.observe import unseen_counts
from jaxgames.skyjo.script import has_script
from tests.support import ROOT, checked_random_play, random_states

MACRO = jaxgames.make("skyjo")
DECISION = jaxgames.make("skyjo", action_mode="decision", setup_mode="manual", num_players=3, ruleset="official")
EIGHT = jaxgames.make("skyjo", num_players=8, ruleset="official", history_window_k=3, later_start="highest_sum")
ENVS = [MACRO, DECISION, EIGHT]


def counts(values, where):
    return ((values.ravel() - MIN_VALUE == jnp.arange(NUM_VALUES)[:, None]) & where.ravel()).sum(-1)


def all_cards_accounted_for(env, state):
    """Every value has its copies: boards, piles, hand, and columns that left the round."""
    on_boards = (state.status != Slot.REMOVED) | (env.rules.cleared_cards == "out")
    in_hand = (state.hand_use != Hand.EMPTY) & (state.hand_use != Hand.THROWN)
    total = (
        counts(state.cards, on_boards)
        + counts(state.deck, in_draw_pile(state))
        + counts(state.discard, jnp.arange(150) < state.discard_size)
        + counts(state.hand, in_hand)
    )
    return (total == COPIES).all()


@pytest.mark.parametrize("env", ENVS, ids=["two", "three-decision-manual", "eight"])
def test_random_play_stays_in_range_and_loses_no_card(env):
    """Also SJ-16 and SJ-21: never an empty mask, and the next deck is ready whenever a round may end."""

    def invariant(state):
        is_ready = state.next_ready == num_dealt(env.num_players)
        return all_cards_accounted_for(env, state) & (is_ready | (state.turns_in_round < 10 * env.num_players - 1))

    def mostly_flips(state, mask):
        """Rounds end soon: flips while there are any, on two of three steps."""
        if env.action_mode == "decision":
            return mask
        flips = mask & (jnp.arange(48) >= 24)
        return jnp.where(flips.any() & (state.step_count % 3 > 0), flips, mask)

    error, _, finished, sound = checked_random_play(
        env, jax.random.key(2), num_envs=32, num_steps=300, weigh=mostly_flips, invariant=invariant
    )
    error.throw()
    assert sound
    assert finished > 10


@functools.cache
def compiled(env):
    return jax.jit(env.init), jax.jit(env.step), jax.jit(env.legal_action_mask)


def random_game(env, seed, num_steps=400):
    """(states before each step and after the last, actions), on the host."""
    init, step, mask = compiled(env)
    rng = np.random.default_rng(seed)
    states, actions = [jax.device_get(init(jax.random.key(seed)))], []
    while not states[-1].done and len(actions) < num_steps:
        actions.append(int(rng.choice(np.flatnonzero(mask(states[-1])))))
        states.append(jax.device_get(step(states[-1], np.int32(actions[-1]))))
    return states, actions


def ids(values):
    """Card ids with these values, each used once."""
    unused = {value: np.flatnonzero(value == VALUES).tolist() for value in np.unique(VALUES)}
    return [unused[value].pop(0) for value in values]


def deal_of(env, states):
    """The explicit deal that a random game followed, read off its states."""
    settle = jax.jit(draw_order)
    decks, reveals, refills = [], [], []
    for before, after in zip([None, *states[:-1]], states, strict=True):
        if before is None or after.round_index > before.round_index:
            pile = np.asarray(settle(after))[after.deck_pos : after.deck_end]
            decks.append(ids([*after.cards.ravel().tolist(), int(after.discard[0]), *pile.tolist()]))
            reveals.append([np.flatnonzero(row == Slot.FACE_UP).tolist() for row in after.status])
        elif after.refills > before.refills:
            pool = before.discard[: before.discard_size - 1].tolist()
            order, unused = [], list(range(len(pool)))
            for value in np.asarray(settle(after))[: after.deck_end].tolist():
                order.append(next(i for i in unused if pool[i] == value))
                unused.remove(order[-1])
            refills.append(order + list(range(len(pool), 150)))
    return {"decks": decks, "reveals": reveals, "refills": refills or [list(range(150))]}


@pytest.mark.parametrize(("env", "seed"), [(MACRO, 0), (MACRO, 5), (EIGHT, 1), (EIGHT, 2)])
def test_sj_6_a_random_game_is_the_game_of_its_deal(env, seed):
    """The order of every pile is settled before it is drawn (SJ-16 too), and what `draw_order` says is true."""
    states, actions = random_game(env, seed)
    deal = deal_of(env, states)
    assert len(deal["decks"]) == states[-1].round_index
    state = jax.jit(env.init)(jax.random.key(99), jax.tree.map(np.asarray, deal, is_leaf=lambda x: isinstance(x, list)))
    step = jax.jit(env.step)
    for action in actions:
        state = step(state, np.int32(action))
    last = states[-1]
    np.testing.assert_array_equal(state.scores, last.scores)
    np.testing.assert_array_equal(state.cards, last.cards)
    np.testing.assert_array_equal(state.status, last.status)
    np.testing.assert_array_equal(state.discard[: last.discard_size], last.discard[: last.discard_size])
    assert int(state.refills) == int(last.refills)
    pile = np.asarray(jax.jit(draw_order)(last))[last.deck_pos : last.deck_end]
    np.testing.assert_array_equal(state.deck[last.deck_pos : last.deck_end], pile)


def test_some_random_games_refill():
    """And a refill is shuffled anew: not as the deck before it, nor as the next refill."""
    refilled = [state for seed in (1, 2) for state in random_game(EIGHT, seed)[0] if state.refilled]
    state, order = refilled[0], jax.jit(draw_order)
    assert state.deck_end - state.deck_pos > 10
    for other in (state.replace(refilled=np.bool_(False)), state.replace(refills=state.refills + 1)):
        assert (np.asarray(order(state)) != order(other)).any()


def test_sj_7_decks_and_reveals_are_uniform():
    """Means and frequencies over 6000 games, all within five standard errors; the next deck as well as the first."""
    num = 6000
    first = jax.device_get(jax.jit(lambda key: vector.reset(MACRO, key, num))(jax.random.key(0)))
    pile = jax.device_get(jax.jit(jax.vmap(draw_order))(first))
    deck = np.concatenate([first.cards.reshape(num, -1), first.discard[:, :1], pile[:, 25:]], axis=1)
    spread = VALUES.std() / np.sqrt(num)
    assert np.abs(deck.mean(0) - VALUES.mean()).max() < 5 * spread
    for place in (0, 11, 24, 25, 149):
        share = np.bincount(deck[:, place] + 2, minlength=15) / num
        expected = COPIES / 150
        assert (np.abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / num)).all()
    # Neighbours in the deck are as good as independent.
    assert abs(np.corrcoef(deck[:, 0], deck[:, 1])[0, 1]) < 5 / np.sqrt(num)
    slots = (first.status == Slot.FACE_UP).mean(0)
    assert np.abs(slots - 1 / 6).max() < 5 * np.sqrt(5 / 36 / num)
    assert ((first.status == Slot.FACE_UP).sum(-1) == 2).all()

    @jax.jit
    def prepared(states):
        prepare = jax.vmap(functools.partial(prepare_next_deck, MACRO, when=True))
        return jax.lax.fori_loop(0, 13, lambda _, states: prepare(states), states)

    following = jax.device_get(prepared(first))
    assert (following.next_ready == 25).all()
    assert np.abs(following.next_deck[:, :25].mean(0) - VALUES.mean()).max() < 5 * spread
    assert abs(np.corrcoef(deck[:, 0], following.next_deck[:, 0])[0, 1]) < 5 / np.sqrt(num)
    assert (np.sort(following.next_deck, axis=1) == np.sort(VALUES)).all()


def test_deals_differ_between_rounds_games_and_keys():
    states, _ = random_game(MACRO, 5)
    deal = deal_of(MACRO, states)
    for name in ("decks", "reveals"):
        assert len({str(one) for one in deal[name]}) == len(deal[name]) >= 2, name
    batch = jax.jit(lambda key: vector.reset(MACRO, key, 64))(jax.random.key(3))
    assert len({tuple(row) for row in np.asarray(batch.cards).reshape(64, -1)}) == 64


def fingerprint(states):
    """A hash of everything in a batch of states."""
    parts = [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(states)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def played_batch(num_envs):
    """64 steps of fixed play in `num_envs` games, those with the first keys of one list."""
    keys = jax.random.split(jax.random.key(11), 8)[:num_envs]

    @jax.jit
    def run(keys):
        def turn(states, word):
            masks = jax.vmap(MACRO.legal_action_mask)(states)
            return jax.vmap(MACRO.step)(states, jax.vmap(jaxgames.cards.choose, (0, None))(masks, word)), None

        words = jax.random.bits(jax.random.key(12), (64,), jnp.uint32)
        return jax.lax.scan(turn, jax.vmap(MACRO.init)(keys), words)[0]

    return run(keys)


def test_same_key_and_actions_give_the_same_game_in_every_batch_and_process():
    batch = played_batch(8)
    alone = played_batch(1)
    chex.assert_trees_all_equal(jax.tree.map(lambda leaf: leaf[:1], batch), alone)
    code = "from tests import test_skyjo_properties as t; print(t.fingerprint(t.played_batch(8)))"
    other = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=300
    )
    assert other.stdout.split()[-1] == fingerprint(batch)


@functools.cache
def sampled(env):
    return random_states(env, jax.random.key(4), 48, 240)


@functools.cache
def worlds_of(env):
    """One world of each of 48 states, each for one of the players: (states) -> worlds."""
    keys, players = jax.random.split(jax.random.key(6), 48), jnp.arange(48) % env.num_players
    draw = jax.jit(jax.vmap(env.determinize))
    return lambda states: jax.device_get(draw(keys, states, players))


@pytest.mark.parametrize("env", [DECISION, EIGHT], ids=["three-decision-manual", "eight"])
def test_sj_52_a_world_depends_on_nothing_hidden_to_come_or_gone_by(env):
    """Nonsense in all chance to come and where cards have left a pile, another order of the pile: the same worlds."""
    states, place = jax.device_get(sampled(env)), np.arange(150)
    in_pile = (place >= states.deck_pos[:, None]) & (place < states.deck_end[:, None])
    last = states.deck_pos[:, None].astype(int) + states.deck_end[:, None] - 1
    turned = np.take_along_axis(states.deck, np.where(in_pile, last - place, place), axis=1)
    nonsense = states.replace(
        seed=states.seed + 1,
        script=jax.tree.map(np.ones_like, states.script),
        next_deck=states.next_deck[:, ::-1],
        next_ready=np.zeros_like(states.next_ready),
        next_reveals=np.zeros_like(states.next_reveals),
        deck=np.where(in_pile, turned, 7).astype(np.int8),
        discard=np.where(place < states.discard_size[:, None], states.discard, 7).astype(np.int8),
    )
    chex.assert_trees_all_equal(worlds_of(env)(nonsense), worlds_of(env)(states))


@pytest.mark.parametrize("env", [DECISION, EIGHT], ids=["three-decision-manual", "eight"])
def test_sj_52_a_world_changes_hidden_cards_only(env):
    """SJ-50, SJ-51: boards, hand and pile keep their cards; after a refill they do not mix. Future chance is new."""
    states, players = sampled(env), jnp.arange(48) % env.num_players
    worlds = worlds_of(env)(states)
    before = jax.device_get(states)
    hidden = {"cards", "deck", "discard", "hand", "seed", "next_deck", "next_ready", "next_reveals", "script"}
    for name in before.__dataclass_fields__:
        if name not in hidden:
            np.testing.assert_array_equal(getattr(worlds, name), getattr(before, name), err_msg=name)
    changed, refilled = 0, 0
    for i in range(48):
        one, world = (jax.tree.map(lambda leaf, i=i: leaf[i], tree) for tree in (before, worlds))
        assert bool(all_cards_accounted_for(env, world))
        is_up = one.status != Slot.HIDDEN
        np.testing.assert_array_equal(world.cards[is_up], one.cards[is_up])
        mine = one.current_player == players[i]
        if mine or one.hand_use not in (Hand.FROM_DECK, Hand.KEPT):
            assert world.hand == one.hand
        if one.refilled:
            assert sorted(world.cards[~is_up]) == sorted(one.cards[~is_up])
            refilled += 1
        changed += (world.cards != one.cards).any()
        assert (world.seed != one.seed).any()
        assert world.next_ready == num_dealt(env.num_players)
    assert changed > 40
    assert refilled > 0 or env is DECISION


def test_sj_52_places_are_equally_likely():
    """From one position, 4000 worlds: each hidden slot and the top of the pile have the mean of the unseen pool."""
    states, _ = random_game(MACRO, 0)
    state = states[10]
    keys = jax.random.split(jax.random.key(0), 4000)
    worlds = jax.device_get(jax.jit(jax.vmap(lambda key: MACRO.determinize(key, state, 0)))(keys))
    hidden = state.status == Slot.HIDDEN
    pool = np.concatenate([state.cards[hidden], state.deck[state.deck_pos : state.deck_end]])
    bound = 5 * pool.std() / np.sqrt(4000)
    assert np.abs(worlds.cards[:, hidden].mean(0) - pool.mean()).max() < bound
    order = jax.device_get(jax.jit(jax.vmap(draw_order))(worlds))
    assert np.abs(order[:, state.deck_pos : state.deck_end].mean(0) - pool.mean()).max() < bound


def test_sj_53_worlds_of_one_position_disagree_about_the_next_card():
    """Search that resamples sees different draws, and different next rounds: nothing of the true future is kept."""
    states, _ = random_game(MACRO, 0)
    keys = jax.random.split(jax.random.key(1), 64)
    worlds = jax.jit(jax.vmap(lambda key: MACRO.determinize(key, states[10], 0)))(keys)
    after = jax.device_get(jax.jit(jax.vmap(MACRO.step, (0, None)))(worlds, 12))
    assert len(np.unique(after.cards[:, states[10].current_player, 0])) > 8
    assert len({tuple(row) for row in after.next_deck}) == 64
    assert len({tuple(row) for row in after.seed.tolist()}) == 64


def test_a_world_of_a_scripted_game_leaves_the_script():
    identity = np.arange(150)[None]
    deal = {"decks": identity, "reveals": np.array([[[0, 1], [2, 3]]]), "refills": identity}
    state = jax.jit(MACRO.init)(jax.random.key(0), deal)
    world = jax.jit(MACRO.determinize)(jax.random.key(1), state, 0)
    assert bool(has_script(state))
    assert not bool(has_script(world))
    chex.assert_trees_all_equal_shapes_and_dtypes(world, state)
    assert (np.asarray(world.next_deck) != VALUES).any()


def plain_bot(name, env, state, unseen):
    """The actions that section 15 lets this bot choose from in a position: one, or any hidden card."""
    legal = set(np.flatnonzero(compiled(env)[2](state)).tolist())
    if (state.reveals_left > 0).any():
        return {min(legal)} if name == "macro_greedy" else legal
    board, cards = state.status[state.current_player], state.cards[state.current_player].astype(int)
    known, hidden = np.flatnonzero(board == Slot.FACE_UP), np.flatnonzero(board == Slot.HIDDEN)
    column = {slot: [other for other in known if other % 4 == slot % 4 and other != slot] for slot in range(12)}
    top, drawn, flips = int(state.discard[state.discard_size - 1]), int(state.hand), state.hand_use == Hand.THROWN
    values = np.arange(NUM_VALUES) + MIN_VALUE
    mean = (unseen * values).sum() / unseen.sum()

    def gain(slot, card):
        old = cards[slot] if slot in known else mean
        completes = [cards[other] for other in column[slot]] == [card, card]
        return old + 2 * card if completes else old - card

    def best(card):
        return max(gain(slot, card) for slot in (*known, *hidden))

    def first(slots, worth):
        return {max(sorted(slots), key=lambda slot: (round(worth(slot), 4), -slot))}

    if name == "macro_greedy":
        moves = {slot: gain(slot, top) for slot in (*known, *hidden)}
        moves |= {12 + slot: (cards[slot] if slot in known else mean) - mean for slot in (*known, *hidden)}
        action = first(moves, moves.get)
        return action if moves[min(action)] >= 1 else {24 + min(hidden)}

    sums = [
        cards[status == Slot.FACE_UP].sum() + 760 / 150 * (status == Slot.HIDDEN).sum()
        for cards, status in zip(state.cards.astype(int), state.status, strict=True)
    ]
    own = sums.pop(int(state.current_player))
    hurries = {"information_first_flip": 12 - len(hidden) < 7, "end_round_aggro": min(sums) - own > 10}.get(name, False)
    wanted = set()
    for rows in ([slot for slot in known if slot % 4 == place] for place in range(4)):
        if rows:
            held = [cards[slot] for slot in rows]
            wanted.add(max(held, key=held.count))  # the first of equals
    lowest, highest = (min(cards[known], default=99), max(cards[known], default=-99))
    greedy = (top <= (2 if 12 - len(hidden) < 6 else 4), drawn <= 2 or drawn <= lowest - 1 < 90)
    takes, keeps = {
        "column_hunter": (top in wanted or top <= 1, drawn in wanted or drawn <= 2),
        "risk_aware_unknown_replacement": (top <= 4, drawn <= 4),
        "anti_discard": (top <= -1, drawn <= 1),
        "ev_greedy": (
            best(top) >= sum(n * max(best(card), 2) for n, card in zip(unseen, values, strict=True)) / unseen.sum(),
            best(drawn) >= 2,
        ),
    }.get(name, greedy)
    if {0, 1} & legal:
        return {int(takes and not hurries)}
    if {2, 3} & legal:
        return {2 if keeps and not hurries else 3}
    if name == "ev_greedy":
        slots = {min(hidden)} if flips else first((*known, *hidden), lambda slot: gain(slot, drawn))
    elif name == "column_hunter":
        equal = {slot: sum(cards[other] == drawn for other in column[slot]) for slot in range(12)}
        worth = lambda slot: (0, 20, 50)[equal[slot]] + (cards[slot] - drawn if slot in known else 2)  # noqa: E731
        slots = first(hidden if flips else (*known, *hidden), worth)
    elif hurries or flips or not len(known) or (name.startswith("risk") and highest < 7 and drawn <= 2):
        slots = set(hidden)
    else:
        slots = first(known, lambda slot: cards[slot])
    return {4 + int(slot) for slot in slots}


@pytest.mark.parametrize("name", ["macro_greedy", "ev_greedy", *HEURISTICS])
def test_bots_do_what_the_rules_page_says_and_do_not_peek(name):
    """Section 15 in plain Python, without the moves by chance; the same answer in a world that looks alike."""
    env = MACRO if name == "macro_greedy" else DECISION
    act, states = agents.make(f"{name}:0" if name in HEURISTICS else name, env), sampled(env)

    @jax.jit
    def choices(key, states):
        world_keys, act_keys = jax.random.split(key, (2, 48))
        worlds = jax.vmap(env.determinize)(world_keys, states, states.current_player)
        real = jax.vmap(act)(act_keys, states, states.current_player)
        other = jax.vmap(act)(act_keys, worlds, states.current_player)
        return real, other, jax.vmap(unseen_counts)(states, states.current_player)

    real, other, unseen = jax.device_get(choices(jax.random.key(8), states))
    np.testing.assert_array_equal(real, other)
    for i, (action, counted) in enumerate(zip(real, unseen, strict=True)):
        state = jax.tree.map(lambda leaf, i=i: leaf[i], jax.device_get(states))
        assert int(action) in plain_bot(name, env, state, counted), env.render(state)
    assert agents.make("rule", env) is not None


def test_a_bot_that_always_plays_by_chance_plays_anything_that_is_legal():
    act, states = agents.make("anti_discard:1", DECISION), jax.device_get(sampled(DECISION))
    masks = np.asarray(jax.jit(jax.vmap(DECISION.legal_action_mask))(states))
    most = np.argmax(masks.sum(1) * (states.reveals_left == 0).all(1))
    state = jax.tree.map(lambda leaf: leaf[most], states)
    keys = jax.random.split(jax.random.key(0), 200)
    chosen = jax.jit(jax.vmap(lambda key, state: act(key, state, state.current_player), (0, None)))(keys, state)
    assert set(np.asarray(chosen).tolist()) == set(np.flatnonzero(masks[most]).tolist())


def test_bots_refuse_the_other_action_mode():
    with pytest.raises(ValueError, match="ev_greedy plays action_mode 'decision', got 'macro'"):
        agents.make("ev_greedy", MACRO)
    with pytest.raises(ValueError, match="macro_greedy plays action_mode 'macro', got 'decision'"):
        agents.make("macro_greedy", DECISION)


def test_a_state_is_small():
    state = jax.eval_shape(MACRO.init, jax.random.key(0))
    assert sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state)) < 2700
