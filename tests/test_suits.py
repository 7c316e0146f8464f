"""`suits`: what a network of Schafkopf or Magic Trick sees and plays does not depend on the names of suits."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from agents import networks
from jaxgames.options import UserError
from jaxgames.schafkopf.cards import FIRST_CARD, NAMES, SAUSPIEL, SOLO, SUIT_LETTERS, WENZ
from tests.magictrick_games import deck_of, multiples, play_out, start, take
from tests.schafkopf_positions import given
from train.seeing import secrets_of, with_critic

# No hand has the same cards of two suits: those are alike, and come in the order of their names.
DEAL = "GA GK G9 G8 EO HA S7 E9 | G7 GO HO SO EU GU HX EK | GX SU HU H9 EA EX SA S9 | H7 H8 HK SX SK S8 E7 E8"
LONG = "GA GX G9 G8 EO GO SU E7 | G7 SO HO HA EU GU HX EK | GK S7 HU H9 EA EX SA S9 | H7 H8 HK SX SK S8 E9 E8"
CALLS = "SGE"  # in the order of their bids
TURN = {"S": "G", "G": "E", "E": "S", "H": "H"}
SWAP = {"S": "S", "G": "E", "E": "G", "H": "H"}
HERZ = {"G": "H", "H": "G", "S": "S", "E": "E"}  # Herz takes the place of Gras

CASES = {
    "bidding": (DEAL, "", TURN),
    "after a call and a Solo": (DEAL, "1 7", SWAP),
    "Sauspiel on Schellen": (DEAL, "1 0 0 0 10 10 10 10 GA G7", TURN),
    "Sauspiel, the called suit is led": (DEAL, "1 0 0 0 10 10 10 10 S7", SWAP),
    "Sauspiel on Eichel with contra": (DEAL, "3 0 0 0 10 10 10 9", TURN),
    "Solo Gras": (DEAL, "7 0 0 0 10 10 10 10 EO", TURN),
    "Solo Gras or Herz": (DEAL, "7 0 0 0 10 10 10 10 EO GO", HERZ),
    "Solo Eichel": (DEAL, "8 0 0 0 10 10 10 10 EO", HERZ),
    "Wenz": (DEAL, "4 0 0 0 10 10 10 10 GA G7", HERZ),
    "Wenz with Obers": (DEAL, "4 0 0 0 10 10 10 10 EO EK EX E7", TURN),
    "bidding for a Solo": (LONG, "", SWAP),
}


def renamed(token, names, contract):
    """A card or a bid with other names of suits; Unter and, but for Wenz, Ober keep theirs."""
    if token in NAMES:
        stays = token[1] == "U" or (token[1] == "O" and contract != WENZ)
        return token if stays else names[token[0]] + token[1]
    bid = int(token)
    if SAUSPIEL <= bid < WENZ:
        return str(SAUSPIEL + CALLS.index(names[CALLS[bid - SAUSPIEL]]))
    if SOLO <= bid < SOLO + 4:
        return str(SOLO + SUIT_LETTERS.index(names[SUIT_LETTERS[bid - SOLO]]))
    return token


def both(deal, actions, names):
    """(state, the same with other names, the contract)."""
    env, state = given(deal, actions)
    contract = int(state.contract)
    text = " ".join(token if token == "|" else renamed(token, names, contract) for token in deal.split())
    _, other = given(text, " ".join(renamed(token, names, contract) for token in actions.split()))
    return env, state, other, contract


@functools.cache
def eyes(env):
    model = networks.make("suits", env, widths=(8,))
    look = jax.jit(lambda state, seat: model.look(state, seat))
    choices = jnp.arange(env.num_actions)
    plays = jax.jit(lambda state: jax.vmap(lambda choice: model.act(state, model.legal(state), choice))(choices))
    return model, look, plays, jax.jit(model.legal)


@pytest.mark.parametrize("name", CASES)
def test_a_position_with_other_names_of_suits_is_the_same(name):
    """All four seats see the same, the same choices are legal, and each stands for the action of the other name."""
    env, state, other, contract = both(*CASES[name])
    _, look, plays, legal = eyes(env)
    for seat in range(4):
        np.testing.assert_array_equal(look(state, seat), look(other, seat))
    np.testing.assert_array_equal(legal(state), legal(other))
    for choice in np.flatnonzero(legal(state)):
        action, elsewhere = int(plays(state)[choice]), int(plays(other)[choice])
        token = NAMES[action - FIRST_CARD] if action >= FIRST_CARD else str(action)
        expected = renamed(token, CASES[name][2], contract)
        assert elsewhere == (FIRST_CARD + NAMES.index(expected) if expected in NAMES else int(expected))


@pytest.mark.parametrize("name", CASES)
def test_every_action_is_one_choice(name):
    env, state, _, _ = both(*CASES[name])
    model, _, plays, legal = eyes(env)
    assert sorted(np.asarray(plays(state)).tolist()) == list(range(env.num_actions))
    told_back = jax.vmap(lambda action: model.choice(state, None, action))(plays(state))
    np.testing.assert_array_equal(told_back, np.arange(env.num_actions))
    np.testing.assert_array_equal(np.asarray(env.legal_action_mask(state))[np.asarray(plays(state))], legal(state))


def test_a_hand_for_solo_herz_is_seen_as_one_for_any_other_suit_with_a_mark():
    """The hand alone: what is trump in a Sauspiel is told by the mark."""
    env, state = given(LONG)
    swapped = " ".join(token if token == "|" else renamed(token, HERZ, 0) for token in LONG.split())
    _, herz = given(swapped)
    _, look, plays, _ = eyes(env)
    hand, suit = (env.layout("full")[name].slice for name in ("hand", "suit"))
    np.testing.assert_array_equal(look(state, 0)[hand], look(herz, 0)[hand])
    assert look(state, 0)[suit].tolist() == [0, 0, 0, 0]
    assert look(herz, 0)[suit].tolist() == [0, 0, 1, 0]
    choice = np.flatnonzero(np.asarray(plays(state)) == SOLO + SUIT_LETTERS.index("G"))[0]
    assert int(plays(herz)[choice]) == SOLO + SUIT_LETTERS.index("H")


def test_suits_come_in_the_order_of_their_cards_however_high_those_of_another_are():
    """Two low cards of Gras before the ace of Eichel, which is seen as one of Schellen; Herz stays."""
    hand = ["G7", "G8", "EA", "SU", "HO", "HA", "HK", "H9"]
    rest = [card for card in NAMES if card not in hand]
    env, state = given(" | ".join(" ".join(each) for each in (hand, rest[:8], rest[8:16], rest[16:])))
    seen = np.asarray(eyes(env)[1](state, 0)[env.layout("full")["hand"].slice])
    assert {NAMES[card] for card in np.flatnonzero(seen)} == {*hand, "SA"} - {"EA"}


def test_the_called_suit_has_its_place_for_a_hand_of_seven_trumps_too():
    """Seat 3 calls Schellen; seat 0 might have played Solo Herz."""
    deal = " ".join(token if token == "|" else renamed(token, HERZ, 0) for token in LONG.split())
    env, state = given(deal, "0 0 0 1 10 10 10 10")
    seen = np.asarray(eyes(env)[1](state, 0))
    hand, suit = (seen[env.layout("full")[name].slice] for name in ("hand", "suit"))
    assert "".join(np.array(list(SUIT_LETTERS))[suit > 0]) == "E"
    assert {NAMES[card] for card in np.flatnonzero(hand)} >= {"HA", "HX", "H9", "H8"}


def test_hidden_cards_reach_a_critic_in_the_same_order():
    env, state, other, _ = both(*CASES["Solo Gras or Herz"])
    critic = with_critic(eyes(env)[0], 4)

    @jax.jit
    def secrets(state):
        return critic.look(state, 0).secrets, critic.at_turn(state, 0)[0].secrets, secrets_of(env, state, 0)

    (here, at_turn, plain), (there, _, _) = secrets(state), secrets(other)
    np.testing.assert_array_equal(here, there)
    np.testing.assert_array_equal(here, at_turn)
    assert int(here.sum()) == int(plain.sum()) > 0


OTHER_BACKS = np.array([2, 6, 0, 3, 5, 1, 4])  # hearts keep their name


def renamed_deck(deck):
    return [8 * int(OTHER_BACKS[card // 8]) + card % 8 for card in deck]


@functools.cache
def magic_eyes():
    env = jaxgames.make("magictrick", num_hands=1)
    model = networks.make("suits", env, widths=(8,))
    secrets = jax.jit(lambda state, seat: model.arranged(state, seat, secrets_of(env, state, seat)))
    return env, model, jax.jit(model.look), secrets


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 9, 24, 41])
@pytest.mark.parametrize("chooser", [min, max])
def test_a_hand_with_other_names_of_backs_is_the_same(steps, chooser):
    """All four seats see the same, and so does a critic; slots have no suit in their names."""
    _, _, look, secrets = magic_eyes()
    deck = multiples(37, 11)
    state = play_out(start(deck), chooser, steps)[-1]
    other = play_out(start(renamed_deck(deck)), chooser, steps)[-1]
    assert (np.asarray(state.dealt) != np.asarray(other.dealt)).any()
    for seat in range(4):
        np.testing.assert_array_equal(look(state, seat), look(other, seat))
        np.testing.assert_array_equal(secrets(state, seat), secrets(other, seat))


def test_the_suit_that_was_led_is_seen_first_and_hearts_in_their_own_place():
    env, _, look, _ = magic_eyes()
    trick = env.layout("v4")["trick"].slice
    for card, place in (("8", 0), ("24", 3)):  # the lowest slot of a deck in which it is this card
        deck = list(range(56))
        deck[0], deck[int(card)] = deck[int(card)], deck[0]
        state = take(start(deck), 0, 28)
        assert int(state.trick[0]) == int(card)
        suits = np.asarray(look(state, int(state.current_player))[trick]).reshape(3, 15)[0, :7]
        assert suits.tolist() == (np.arange(7) == place).tolist()


def test_suits_of_magic_trick_come_by_what_is_led_then_by_the_players_hidden_cards_then_by_all():
    """Seat 0 has six low clubs, four high stars and four hearts. The others play a moon each, then it throws a star."""
    stars, moons, hearts, clubs = range(4, 8), range(16, 24), range(24, 28), range(40, 46)
    first = [*stars, *hearts, *clubs]
    rest = [card for card in range(56) if card not in first]
    state = start(deck_of([first, rest[::3], rest[1::3], rest[2::3]]), leader=1)
    look = magic_eyes()[2]

    def hidden_cards(state):
        """(of the player, of all), by place."""
        hidden = 8 * np.asarray(look(state, 0))[-28:].reshape(4, 7)
        return hidden[0].tolist(), hidden.sum(0).tolist()

    def plays(state, suit):
        cards = np.asarray(state.dealt[0, state.current_player])
        return take(state, int(np.flatnonzero(np.isin(cards, suit))[0]), 28)

    assert hidden_cards(state) == ([6, 4, 0, 4, 0, 0, 0], [8] * 7)
    for _ in range(3):
        state = plays(state, moons)
    assert hidden_cards(state) == ([0, 6, 4, 4, 0, 0, 0], [5, 8, 8, 8, 8, 8, 8])
    assert hidden_cards(plays(state, stars)) == ([6, 3, 0, 4, 0, 0, 0], [8, 7, 8, 8, 8, 8, 5])


def test_revealed_slots_and_hidden_cards_follow_behind_the_mask():
    """Of the deck in order after a lead and a pass: one card of stars less in the first hand."""
    env, model, look, _ = magic_eyes()
    state = take(start(range(56)), 0, 28)
    seen = np.asarray(look(state, 1))
    size = env.observation_shape("v4")[0] + env.num_actions
    revealed, hidden = seen[size : size + 56].reshape(4, 14), 8 * seen[size + 56 :].reshape(4, 7)
    assert np.argwhere(revealed).tolist() == [[3, 0]]  # the leader sits before the player
    assert hidden.sum(1).tolist() == [14, 14, 14, 13]
    assert hidden[3, 0] == 1
    assert (hidden[:3] == 2).all()
    assert seen.size == size + 84
    assert model.network.reads_mask


def test_a_network_with_places_begins_as_the_one_it_starts_from():
    env, model, look, _ = magic_eyes()
    plain = networks.make("mlp", env, "v4", widths=(8,), reads_mask=True)
    params = jax.device_get(jax.jit(plain.init)(jax.random.key(0)))
    grown = model.adopt(plain, params)
    seen = look(take(start(range(56)), 0, 28), 1)
    size = env.observation_shape("v4")[0] + env.num_actions
    now, then = model.read(grown, seen), plain.read(params, seen[:size])
    np.testing.assert_allclose(now.heads, then.heads, atol=1e-6)
    np.testing.assert_allclose(now.value, then.value, atol=1e-6)
    assert model.adopt(model, grown) is grown
    blind = networks.make("mlp", env, "v5", widths=(8,), reads_mask=True)
    assert model.adopt(blind, params) is params


def test_another_game_is_refused():
    sentence = "suits reads full or linear342 of schafkopf; v4 of magictrick, got"
    for game, version, got in (
        ("skullking", None, "'ability' of skullking"),
        ("schafkopf", "lstm55", "'lstm55' of schafkopf"),
        ("magictrick", "v1", "'v1' of magictrick"),
    ):
        with pytest.raises(UserError, match=f"{sentence} {got}"):
            networks.make("suits", jaxgames.make(game), version)
