"""Schafkopf's worlds put to the test: replayed from their deal, and compared with all deals there are."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

import agents
import jaxgames
from jaxgames.schafkopf.cards import DOUBLE, FIRST_CARD, NO_DOUBLE, NO_SEAT, NUM_CARDS, NUM_SEATS, unpack
from jaxgames.schafkopf.state import CONTRA, RETOUR, State

NO_ACTION = -1


def history(env, state: State):
    """int32[step]: the public actions that led here, NO_ACTION where a stage was skipped or is not yet played."""
    order = (state.leaders[0] + jnp.arange(NUM_SEATS)) % NUM_SEATS
    num_acted = (state.current_player - state.leaders[0]) % NUM_SEATS

    def doublings(giver, stage, is_played):
        said = jnp.where(order == giver, DOUBLE, NO_DOUBLE)
        has_spoken = (state.stage > stage) | ((state.stage == stage) & (jnp.arange(NUM_SEATS) < num_acted))
        return jnp.where(has_spoken & is_played, said, NO_ACTION)

    contra = doublings(state.contra, CONTRA, env.contra)
    retour = doublings(state.retour, RETOUR, env.contra & (state.contra != NO_SEAT))
    cards = state.played.ravel().astype(jnp.int32)
    cards = jnp.where(cards >= 0, cards + FIRST_CARD, NO_ACTION)
    return jnp.concatenate([state.bids[order], contra, retour, cards])


def replay(env, world: State):
    """The state that the world's own history leads to from its deal, and bool[]: every action of it was legal."""
    deck = jnp.nonzero(unpack(world.dealt), size=NUM_CARDS)[1]
    first = env.init(jax.random.key(0), deal={"dealer": (world.leaders[0] + 3) % NUM_SEATS, "deck": deck})

    def turn(carry, action):
        state, is_legal = carry
        is_skipped = action == NO_ACTION
        is_legal &= is_skipped | env.is_legal(state, action)
        return (jaxgames.pick(is_skipped, state, env.step(state, action)), is_legal), None

    return jax.lax.scan(turn, (first, jnp.bool_(True)), history(env, world))[0]


def replays(env, world: State):
    """bool[]: the history is legal and leads back to the world."""
    state, is_legal = replay(env, world)
    same = [(a == b).all() for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(world), strict=True)]
    return is_legal & jnp.stack(same).all()


@functools.partial(jax.jit, static_argnums=(0, 1, 3))
def mid_game_states(env, specs: tuple[str, ...], key, count: int):
    """[env, ...]: states of games between these agents, stopped after a random number of steps."""
    table = [agents.make(spec, env) for spec in specs]

    def game(key):
        init_key, stop_key, seat_key, play_key = jax.random.split(key, 4)
        stop = jax.random.randint(stop_key, (), 0, env.max_steps)
        who = jax.random.randint(seat_key, (NUM_SEATS,), 0, len(table))

        def turn(state, x):
            i, key = x
            choices = jnp.stack([agent(key, state, state.current_player) for agent in table])
            following = env.step(state, choices[who[state.current_player]])
            # A finished game hides nothing: stay before its end.
            return jaxgames.pick((i < stop) & ~following.done, following, state), None

        steps = (jnp.arange(env.max_steps), jax.random.split(play_key, env.max_steps))
        return jax.lax.scan(turn, env.init(init_key), steps)[0]

    return jax.vmap(game)(jax.random.split(key, count))


@functools.partial(jax.jit, static_argnums=(0,))
def draw_and_replay(env, key, states, players):
    """bool[env] legal, bool[env] the deal differs from the true one."""

    def one(key, state, player):
        world = env.determinize(key, state, player)
        return replays(env, world), (world.dealt != state.dealt).any()

    return jax.vmap(one)(jax.random.split(key, players.shape[0]), states, players)


def proposals(state: State, player: int) -> np.ndarray:
    """uint32[deal, seat]: every deal of the cards that `player` cannot place, legal or not. Host side."""
    dealt = [int(cards) for cards in np.asarray(state.dealt)]
    gone = sum(1 << int(card) for card in np.asarray(state.played).ravel() if card >= 0)
    hidden = [(player + i) % NUM_SEATS for i in range(1, NUM_SEATS)]
    unseen = [card for card in range(NUM_CARDS) if not (gone | dealt[player]) >> card & 1]
    needs = [(dealt[seat] & ~gone).bit_count() for seat in hidden]
    deals = []
    for one in itertools.combinations(unseen, needs[0]):
        rest = [card for card in unseen if card not in one]
        for two in itertools.combinations(rest, needs[1]):
            three = [card for card in rest if card not in two]
            deal = [cards & gone for cards in dealt]
            deal[player] = dealt[player]
            for seat, cards in zip(hidden, (one, two, three), strict=True):
                deal[seat] |= sum(1 << card for card in cards)
            deals.append(deal)
    return np.array(deals, np.uint32)


@functools.partial(jax.jit, static_argnums=(0,))
def is_legal_deal(env, state, deals):
    """bool[deal]: the master definition, by replay."""
    return jax.vmap(lambda dealt: replay(env, state.replace(dealt=dealt))[1])(deals)


@functools.partial(jax.jit, static_argnums=(0, 4))
def draw_deals(env, key, state, player, count: int):
    """uint32[world, seat]: the deals of `count` determinizations."""
    return jax.vmap(lambda key: env.determinize(key, state, player).dealt)(jax.random.split(key, count))


def compare_with_all_deals(env, key, state, player: int, draws: int, most: int = 1680):
    """(number of proposals, how often each legal deal was drawn, how many draws were none of them)."""
    deals = proposals(state, player)
    padded = np.concatenate([deals, np.repeat(deals[:1], most - len(deals), axis=0)])  # one compilation
    legal = deals[np.asarray(is_legal_deal(env, state, padded))[: len(deals)]]
    index = {tuple(deal): i for i, deal in enumerate(legal.tolist())}
    drawn = np.asarray(draw_deals(env, key, state, player, draws)).tolist()
    found = np.array([index.get(tuple(deal), -1) for deal in drawn])
    return len(deals), np.bincount(found[found >= 0], minlength=len(legal)), int((found < 0).sum())


def endgames(states, key, count: int, cards_left: int = 3):
    """[(state, player)]: the first `count` of `states` that are a Sauspiel with few cards left, a random observer."""
    left = NUM_CARDS - (np.asarray(states.played) >= 0).sum(axis=(1, 2))
    is_sauspiel = np.isin(np.asarray(states.contract), (1, 2, 3))
    late = np.flatnonzero((left <= NUM_SEATS * cards_left) & (left > NUM_SEATS) & is_sauspiel)[:count]
    players = np.asarray(jax.random.randint(key, (len(late),), 0, NUM_SEATS))
    return [(jax.tree.map(lambda leaf, i=i: leaf[i], states), int(p)) for i, p in zip(late, players, strict=True)]
