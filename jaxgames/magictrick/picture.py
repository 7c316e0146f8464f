"""The table of Magic Trick as a picture: everything, or what the players know, which is the same for all four."""

import functools
from typing import TYPE_CHECKING

from jaxgames import pictures
from jaxgames.magictrick.cards import (
    BID,
    NO_BID,
    NO_CARD,
    NUM_SEATS,
    NUM_SLOTS,
    NUM_SUITS,
    NUM_TRICKS,
    PASS,
    PLAY,
    SUIT_NAMES,
)
from jaxgames.magictrick.state import BIDDING, PLAYING
from jaxgames.pictures import chip, group, icon, move

if TYPE_CHECKING:
    from jaxgames.magictrick.env import MagicTrickEnv
    from jaxgames.magictrick.state import State

SUITS = (
    ("star", "jg-ochre"),
    ("spade", "jg-black"),
    ("moon", "jg-blue"),
    ("heart", "jg-red"),
    ("diamond", "jg-purple"),
    ("club", "jg-green"),
    ("triangle", "jg-grey"),
)
OWN_ROWS, OWN_HEIGHT = 2, 66
TASKS = {PLAYING: "play a card", BIDDING: "bid a card, or pass"}


def picture(env: "MagicTrickEnv", state: "State", player: int | None = None, moves: bool = True) -> str:
    """SVG; `moves` marks what the viewer may do now."""
    state = pictures.on_host(state)
    legal = pictures.legal_moves(env, state, player) if moves else {}
    seats = pictures.around(NUM_SEATS, player)
    trick = min(int(state.tricks.sum()) + 1, NUM_TRICKS)
    detail = f"Hand {int(state.hand_index) + 1} of {env.num_hands}, trick {trick} of {NUM_TRICKS}, hearts are trump"
    task = TASKS[int(state.phase)]
    y = pictures.HEADER
    parts = [pictures.headline(env, state, player, task, detail), group(table(env, state, player), y=y)]
    y += pictures.TABLE_HEIGHT + 8
    others = {seat: slots(state, seat, legal, player is None) for seat in seats[1:]}
    parts.append(pictures.hand_rows(others, y, int(state.current_player)))
    y += pictures.ROW * len(others) + 4
    own, half = slots(state, seats[0], legal, player is None), NUM_SLOTS // OWN_ROWS
    for row in range(OWN_ROWS):
        parts.append(pictures.in_a_row(own[half * row : half * (row + 1)], y, most=64, h=OWN_HEIGHT))
        y += OWN_HEIGHT + 4
    parts.append(pictures.button_row(y + 2, legal, {PASS: ("pass", "", "")}))
    return pictures.sheet(env, state, player, y + 46, parts)


def draw(card: int, x: float, y: float, w: float, h: float, covered: bool = False) -> str:
    return pictures.face(x, y, w, h, card % 8, *SUITS[card // 8], covered=covered)


def draw_back(suit: int, x: float, y: float, w: float, h: float) -> str:
    """A hidden slot: everybody sees the suit on its back, nobody its value."""
    r = min(0.36 * w, 0.3 * h)
    parts = [
        pictures.box(0.5, 0.5, w - 1, h - 1, "jg-back jg-edge", rx=w / 9),
        pictures.tag("circle", cx=w / 2, cy=h / 2, r=r, class_="jg-paper"),
        icon(SUITS[suit][0], w / 2, h / 2, 1.3 * r, SUITS[suit][1]),
    ]
    return group(*parts, x=x, y=y)


def table(env: "MagicTrickEnv", state: "State", player: int | None) -> str:
    """The seats around the open trick."""
    winners = pictures.winners(env, state)
    cards = [int(card) for card in state.trick if card != NO_CARD]
    leader = (int(state.current_player) - len(cards) + int(state.phase == BIDDING)) % NUM_SEATS

    def seat_plate(seat, x, y):
        bid, suits = int(state.bid[seat]), [suit for suit in range(NUM_SUITS) if int(state.captured[seat]) >> suit & 1]
        hidden = int((~state.revealed[seat]).sum())
        won = f"won {int(state.tricks[seat])}" + ("" if bid == NO_BID else f" of {bid}")
        return pictures.plate(
            x,
            y,
            seat,
            player,
            score=int(state.scores[seat]),
            lines=[f"{won}, no bid" if bid == NO_BID else f"{won}, {hidden} left"],
            extra="".join(
                chip(6 + 18 * place, 51, *SUITS[suit], hint=f"captured {SUIT_NAMES[suit]}")
                for place, suit in enumerate(suits)
            ),
            is_turn=not state.terminated and int(state.current_player) == seat,
            is_winner=bool(winners[seat]),
        )

    return pictures.trick_table(
        pictures.around(NUM_SEATS, player),
        {seat: functools.partial(seat_plate, seat) for seat in range(NUM_SEATS)},
        {(leader + place) % NUM_SEATS: functools.partial(draw, card) for place, card in enumerate(cards)},
        leader,
    )


def slots(state: "State", seat: int, legal: dict[int, str], sees_values: bool) -> list[pictures.Drawing]:
    """The 14 places of a hand, which stay where they are; the player to move may play or bid some of them."""
    mine = legal if seat == int(state.current_player) else {}
    cards = state.dealt[int(state.hand_index), seat]
    first = PLAY if state.phase == PLAYING else BID
    return [
        functools.partial(slot, int(card), bool(state.revealed[seat, place]), sees_values, mine, first + place)
        for place, card in enumerate(cards)
    ]


def slot(
    card: int,
    is_revealed: bool,
    sees_value: bool,
    legal: dict[int, str],
    action: int,
    x: float,
    y: float,
    w: float,
    h: float,
) -> str:
    if is_revealed:
        return draw(card, x, y, w, h)
    drawing = draw(card, x, y, w, h, covered=True) if sees_value else draw_back(card // 8, x, y, w, h)
    return move(drawing, action, legal[action]) if action in legal else drawing
