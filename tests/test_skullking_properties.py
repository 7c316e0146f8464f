"""What must hold of Skull King in any game: no card lost, nothing leaked, worlds that fit what was seen."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import agents
import jaxgames
from jaxgames.skullking import cards as c
from jaxgames.skullking import observe
from jaxgames.skullking.cards import ABILITY_BENDT_1, ABILITY_BENDT_2, BIDDING, NO_CARD, NUM_CARDS, suit_of
from tests.skullking_positions import play, start
from tests.support import checked_random_play, random_states

SHORT = (3, 6, 9)  # rounds in which everything happens


def card_counts(state):
    """int[card]: how often each card lies somewhere this round, the stock left out."""
    cards = jnp.arange(NUM_CARDS)
    finished = observe.has_discarded(state)
    held = (state.hand.reshape(-1, 1) == cards).sum(0)
    played = (state.played.reshape(-1, 1) == cards).sum(0)
    return held + played + jnp.where(finished, (state.discards[:, None] == cards).sum(0), 0)


def is_sound(env, state):
    """No card twice, none from outside the deck, hand sizes right, slots ascending."""
    counts = card_counts(state)
    deck = jnp.asarray(env.in_deck)
    size = jnp.asarray(env.hand_sizes)[state.round]
    drawn = (state.bendt >= 0) * 2
    located = counts.sum()
    ascending = (jnp.diff(state.hand.astype(jnp.int32), axis=-1) >= 0).all()
    return (counts <= deck).all() & (located == env.num_players * size + drawn) & ascending


@pytest.mark.parametrize("num_players", [2, 4, 6])
def test_random_games_stay_in_range_and_lose_no_card(num_players):
    """SK-1, SK-7: random play under index checks; every card of the deck is accounted for after every step."""
    env = jaxgames.make("skullking", num_players=num_players, hand_sizes=SHORT)
    invariant = functools.partial(is_sound, env)
    error, _, finished, sound = checked_random_play(env, jax.random.key(0), 64, 150, invariant=invariant)
    error.throw()
    assert sound
    assert finished > 0


@functools.partial(jax.jit, static_argnums=0)
def imagine(env, keys, states, players):
    return jax.vmap(env.determinize)(keys, states, players)


def make_worlds(env, seed, count):
    """(states, players, worlds): a determinization for each of many positions of random play, all phases and seats."""
    states = random_states(env, jax.random.key(seed), count, env.max_steps)
    players = jnp.arange(count) % env.num_players
    keys = jax.random.split(jax.random.key(seed + 1), count)
    return states, players, imagine(env, keys, states, players)


@functools.cache
def worlds(num_players):
    env = jaxgames.make("skullking", num_players=num_players, hand_sizes=SHORT)
    return env, *make_worlds(env, 1, 384)


@functools.partial(jax.jit, static_argnums=0)
@functools.partial(jax.vmap, in_axes=(None, 0, 0, 0))
def faults(env, state, player, world):
    """{what: bool}: what is wrong with a world for this player, by SK-42 (a), (b), (c), (e)."""
    hidden = ("hand", "dealt", "top", "bids", "discards")
    suits = suit_of(world.hand)[..., None] == jnp.arange(1, 5)
    other = jnp.arange(env.num_players) != player
    known, known_there = (observe.known_cards(env, each, player) for each in (state, world))
    bendt_drew = (state.bendt >= 0) & ((state.phase == ABILITY_BENDT_1) | (state.phase == ABILITY_BENDT_2))
    top_held = (world.top[state.round][:, None] == world.hand[jnp.clip(state.bendt, 0)]).any(-1).all()
    seen = {v: (env.observe(state, player, v) != env.observe(world, player, v)).any() for v in env.observation_versions}
    return seen | {
        "public facts": ~jnp.stack([jnp.all(world[name] == state[name]) for name in state if name not in hidden]).all(),
        "hand sizes": ((world.hand != NO_CARD).sum(-1) != (state.hand != NO_CARD).sum(-1)).any(),
        "voids": (suits & world.voids[:, None, :] & other[:, None, None]).any(),
        "range of bids": (world.bids > jnp.asarray(env.hand_sizes)[state.round]).any(),
        "bids": (world.bids != state.bids).any() & (state.phase != BIDDING),
        "Jade": (known_there.jade != known.jade).any(),
        "cards": ~is_sound(env, world),
        "Bendt's draw": bendt_drew & ~top_held,
    }


def repeated_futures(states, made):
    """bool[world]: is some later round dealt as in truth?"""
    later = np.arange(states.dealt.shape[1]) > np.asarray(states.round)[:, None]
    same_deal = (np.asarray(made.dealt) == np.asarray(states.dealt)).all((2, 3))
    return (same_deal & later).any(-1)


@pytest.mark.parametrize("num_players", [2, 5])
def test_sk_42_worlds_fit_what_the_player_knows(num_players):
    """SK-42 (a), (b), (c), (e): observations equal, public facts equal, voids and Jade's look respected."""
    found = jax.device_get(faults(*worlds(num_players)))
    assert {what for what, where in found.items() if where.any()} == set()


@pytest.mark.parametrize("num_players", [2, 5])
def test_sk_42_the_future_is_drawn_anew(num_players):
    """SK-42 (d): later rounds differ, the deal of this round is one that could have led here."""
    env, states, _, made = worlds(num_players)
    assert not repeated_futures(states, made).any()
    dealt = np.asarray(made.dealt)
    for index, number in enumerate(np.asarray(states.round)):
        hands = dealt[index, number]
        cards = hands[hands != NO_CARD]
        assert len(cards) == len(set(cards.tolist())) == env.num_players * env.hand_sizes[number]


def test_sk_42_hidden_hands_really_change():
    """SK-42: two worlds of one position are different worlds, and not the true one."""
    env, states, players, made = worlds(5)
    again = imagine(env, jax.random.split(jax.random.key(99), 384), states, players)
    held = (np.asarray(states.hand) != NO_CARD).sum((1, 2)) > 12
    assert ((np.asarray(made.hand) != np.asarray(states.hand)).any((1, 2)) | ~held).all()
    assert ((np.asarray(made.hand) != np.asarray(again.hand)).any((1, 2)) | ~held).all()


@pytest.mark.parametrize("spec", ["rule", "rule:easy,random", "rule:hard,strength"])
def test_agents_do_not_peek(spec):
    """An agent acts the same in a world that its player cannot tell from the true one."""
    env, states, _, _ = worlds(5)
    act = agents.make(spec, env)

    @jax.jit
    def both(keys, states):
        def one(key, state):
            player = state.current_player.astype(jnp.int32)
            world = env.determinize(key, state, player)
            return act(key, state, player), act(key, world, player), env.is_legal(state, act(key, state, player))

        return jax.vmap(one)(keys, states)

    here, there, legal = both(jax.random.split(jax.random.key(5), 384), states)
    assert (np.asarray(here) == np.asarray(there)).all()
    assert np.asarray(legal).all()


def test_switched_off_abilities_never_ask():
    """SK-20, SK-60: with all abilities off only bidding and playing happen."""
    env = jaxgames.make("skullking", num_players=4, hand_sizes=SHORT, kraken=False, loot=False)
    init = jax.vmap(lambda key: env.init(key, abilities=np.zeros(5, bool)))

    def turn(states, key):
        masks = jax.vmap(env.legal_action_mask)(states)
        actions = jax.random.categorical(key, jnp.where(masks, 0.0, jnp.finfo(jnp.float32).min))
        return jax.vmap(env.step)(states, actions), states.phase

    run = jax.jit(lambda keys: jax.lax.scan(turn, init(keys[:32]), keys[32:]))
    last, phases = run(jax.random.split(jax.random.key(3), 32 + env.max_steps))
    assert np.asarray(last.terminated).all()
    assert set(np.unique(np.asarray(phases)).tolist()) == {0, 1}


def test_explicit_deal_is_the_random_game():
    """SK-3: `init(key)` is `init(key, deal=env.deal(key))`."""
    env = jaxgames.make("skullking", num_players=3, hand_sizes=(2, 3))
    key = jax.random.key(8)
    deal = jax.tree.map(np.asarray, env.deal(key))
    chex.assert_trees_all_equal(
        env.init(key), env.init(key, deal={"starter": int(deal["starter"]), "decks": deal["decks"]})
    )


def test_sk_42_jade_then_bendt():
    """SK-42 (b): who looked through the stock knows that two of its cards went to the seat that drew afterwards."""
    env = jaxgames.make("skullking", num_players=3, hand_sizes=(4,))
    dealt = start(env, ["Jade P1 P2 P3", "Bendt P4 P5 P6", "P7 P8 P9 P10"], top="SkullKing R1")
    actions = [0, 0, 0]  # bids
    actions += [c.PLAY, c.PLAY + 1, c.PLAY, c.ACKNOWLEDGE]  # Jade wins; seat 1 gives P4, seat 2 P7
    actions += [c.PLAY, c.PLAY, c.PLAY]  # P1, Bendt, P8: Bendt wins and draws the Skull King and R1
    actions += [c.DISCARD + 2, c.DISCARD + 3]  # P5 and P6 go
    actions += [c.PLAY]  # the Skull King is played
    states = play(env, dealt, actions)
    jade = np.flatnonzero(np.asarray(observe.known_cards(env, states[7], jnp.int32(0)).jade))
    assert len(jade) == 74 - 12
    make = jax.jit(jax.vmap(env.determinize, in_axes=(0, None, None)))
    look = jax.jit(jax.vmap(lambda world: env.observe(world, 0, "full")))
    seen_with_bendt = set()
    for state in states[10:]:  # drawn, first choice made, both gone, one of them played
        made = jax.tree.map(np.asarray, make(jax.random.split(jax.random.key(0), 64), state, 0))
        assert (np.asarray(look(made)) == np.asarray(env.observe(state, 0, "full"))).all()
        finished = bool(observe.has_discarded(state))
        for hand, discards, played in zip(made.hand[:, 1], made.discards, made.played[:, 1], strict=True):
            with_bendt = {*hand.tolist(), *played.tolist(), *(discards.tolist() if finished else [])} - {NO_CARD}
            assert len(with_bendt & set(jade.tolist())) == 2
            seen_with_bendt |= with_bendt
        others = {*made.hand[:, 2].ravel().tolist()} - {NO_CARD}
        assert not others & set(jade.tolist())
    assert len(seen_with_bendt & set(jade.tolist())) > 30  # any two of the stock
