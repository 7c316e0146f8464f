"""The table of Schafkopf as a picture: everything, or what one seat may know."""

import functools
from typing import TYPE_CHECKING

import numpy as np

from jaxgames import pictures
from jaxgames.pictures import group, move, words
from jaxgames.schafkopf.cards import (
    CALLED_ACE,
    CALLED_SUIT,
    CONTRACT_NAMES,
    DOUBLE,
    FIRST_CARD,
    NO_BID,
    NO_CARD,
    NO_DOUBLE,
    NO_SEAT,
    NUM_CARDS,
    NUM_SEATS,
    NUM_TRUMPS,
    PASS,
    SAUSPIEL,
    SAUSPIEL_SUITS,
    SOLO,
    SUIT_NAMES,
    TOP_TRUMPS,
    WENZ,
)
from jaxgames.schafkopf.state import BIDDING, CONTRA, FIRST_TRICK, RETOUR

if TYPE_CHECKING:
    from jaxgames.schafkopf.env import SchafkopfEnv
    from jaxgames.schafkopf.state import State

SUITS = (("bell", "jg-ochre"), ("heart", "jg-red"), ("leaf", "jg-green"), ("acorn", "jg-black"))
RANKS = ("7", "8", "9", "U", "O", "K", "10", "A")
TASKS = {BIDDING: "bid or pass", CONTRA: "contra?", RETOUR: "retour?"}


def picture(env: "SchafkopfEnv", state: "State", player: int | None = None, moves: bool = True) -> str:
    """SVG; `moves` marks what the viewer may do now."""
    state = pictures.on_host(state)
    legal = pictures.legal_moves(env, state, player) if moves else {}
    stage = int(state.stage)
    task = TASKS.get(stage, "play a card")
    detail = game_words(state)
    if stage >= FIRST_TRICK:
        detail += f", trick {stage - FIRST_TRICK + 1} of 8"
    y = pictures.HEADER
    parts = [pictures.headline(env, state, player, task, detail), group(table(env, state, player), y=y)]
    y += pictures.TABLE_HEIGHT + 8
    parts.append(pictures.last_trick(trick_before(state), y, winner=int(state.leaders[max(stage - FIRST_TRICK, 0)])))
    y += pictures.ROW + 4
    if player is None:
        hands = {seat: hand(state, seat, legal) for seat in range(NUM_SEATS)}
        parts.append(pictures.hand_rows(hands, y, int(state.current_player), most=50))
        y += pictures.ROW * NUM_SEATS
    else:
        parts.append(pictures.in_a_row(hand(state, player, legal), y))
        y += 86
    parts.append(pictures.button_row(y, legal, button_labels(stage), in_a_row=5))
    return pictures.sheet(env, state, player, y + 86, parts)


def game_words(state: "State") -> str:
    """What is played, by whom, and how it was doubled."""
    declarer, first = int(state.declarer), int(state.leaders[0])
    if declarer == NO_SEAT:
        return "All have passed" if state.terminated else f"Bidding, seat {first} begins"
    doubled = [name for name, giver in (("contra", state.contra), ("retour", state.retour)) if int(giver) != NO_SEAT]
    return ", ".join([f"{CONTRACT_NAMES[int(state.contract)]} of seat {declarer}", *doubled])


def draw(card: int, x: float, y: float, w: float, h: float) -> str:
    return pictures.face(x, y, w, h, RANKS[card // 4], *SUITS[card % 4])


def table(env: "SchafkopfEnv", state: "State", player: int | None) -> str:
    """The seats around the open trick, and the contract in the middle."""
    winners = pictures.winners(env, state)
    trick = max(int(state.stage) - FIRST_TRICK, 0)
    leader = int(state.leaders[trick])

    def seat_plate(seat, x, y):
        return pictures.plate(
            x,
            y,
            seat,
            player,
            score=int(state.points[seat]),
            lines=seat_words(state, seat),
            is_turn=not state.terminated and int(state.current_player) == seat,
            is_winner=bool(winners[seat]),
        )

    in_order = enumerate(int(card) for card in state.played[trick])
    drawn = pictures.trick_table(
        pictures.around(NUM_SEATS, player),
        {seat: functools.partial(seat_plate, seat) for seat in range(NUM_SEATS)},
        {(leader + place) % NUM_SEATS: functools.partial(draw, card) for place, card in in_order if card != NO_CARD},
        leader,
    )
    return drawn + contract_sign(state)


def contract_sign(state: "State") -> str:
    """The game in a word and the suit that it names."""
    contract = int(state.contract)
    if int(state.declarer) == NO_SEAT or contract == PASS:
        return ""
    name = "Sauspiel" if contract < WENZ else "Wenz" if contract == WENZ else "Solo"
    suit = int(CALLED_SUIT[contract]) if contract < WENZ else contract - SOLO
    sign = pictures.chip(227, 186, *SUITS[suit], size=26) if contract != WENZ else ""
    return words(240, 166, name, "jg-ink jg-bold", size=16, anchor="middle", room=92) + sign


def seat_words(state: "State", seat: int) -> list[str]:
    """Tricks taken, or the payment; then the part that the seat plays, or what it bid."""
    tricks = int(state.tricks[seat])
    taken = f"{state.rewards[seat]:+.0f} cents" if state.terminated else pictures.how_many(tricks, "trick")
    bid, contract = int(state.bids[seat]), int(state.contract)
    parts = []
    if int(state.declarer) == seat:
        parts.append("declarer")
    elif is_known_partner(state, seat):
        parts.append("partner")
    elif bid != NO_BID:
        parts.append("passed" if bid == PASS else bid_word(bid))
    parts += [name for name, giver in (("contra", state.contra), ("retour", state.retour)) if int(giver) == seat]
    if contract == PASS and (int(state.leaders[0]) + 3) % NUM_SEATS == seat:
        parts.append("dealer")
    return [taken, ", ".join(parts)]


def bid_word(bid: int) -> str:
    if bid == WENZ:
        return "Wenz"
    return f"calls {SUIT_NAMES[SAUSPIEL_SUITS[bid - SAUSPIEL]]}" if bid < WENZ else f"Solo {SUIT_NAMES[bid - SOLO]}"


def is_known_partner(state: "State", seat: int) -> bool:
    """Whoever has played the called ace has shown it to all."""
    ace = int(CALLED_ACE[int(state.contract)])
    if not ace:
        return False
    trick, place = np.nonzero(state.played == ace.bit_length() - 1)
    return bool(len(trick)) and (int(state.leaders[trick[0]]) + int(place[0])) % NUM_SEATS == seat


def trick_before(state: "State") -> dict[int, pictures.Drawing]:
    """The last complete trick in the order of play, by seat."""
    number = int(state.stage) - FIRST_TRICK - 1
    if number < 0:
        return {}
    leader = int(state.leaders[number])
    cards = enumerate(int(card) for card in state.played[number])
    return {(leader + place) % NUM_SEATS: functools.partial(draw, card) for place, card in cards}


def hand(state: "State", seat: int, legal: dict[int, str]) -> list[pictures.Drawing]:
    """The cards in hand: trumps first, then suit by suit, each from the highest."""
    contract, gone = int(state.contract), state.played
    trumps = [int(card) for card in TOP_TRUMPS[contract][: NUM_TRUMPS[contract]]]
    plain = [card for card in sorted(range(NUM_CARDS), key=lambda card: (-(card % 4), -card)) if card not in trumps]
    mine = [card for card in trumps + plain if int(state.dealt[seat]) >> card & 1 and not (gone == card).any()]
    plays = legal if seat == int(state.current_player) and state.stage >= FIRST_TRICK else {}
    return [functools.partial(hand_card, card, plays) for card in mine]


def hand_card(card: int, legal: dict[int, str], x: float, y: float, w: float, h: float) -> str:
    drawing, action = draw(card, x, y, w, h), FIRST_CARD + card
    if action in legal:
        return move(drawing, action, legal[action])
    return group(drawing, class_="jg-dim") if legal else drawing


def button_labels(stage: int) -> dict[int, tuple[str, str, str]]:
    """What the buttons of the bids and doublings say."""
    doubling = "retour" if stage == RETOUR else "contra"
    return {
        PASS: ("pass", "", ""),
        **{SAUSPIEL + i: ("call", *SUITS[suit]) for i, suit in enumerate(SAUSPIEL_SUITS)},
        WENZ: ("Wenz", "", ""),
        **{SOLO + suit: ("Solo", *SUITS[suit]) for suit in range(len(SUITS))},
        DOUBLE: (doubling, "", ""),
        NO_DOUBLE: (f"no {doubling}", "", ""),
    }
