"""The table of Skull King as a picture: everything, or what one seat may know."""

import functools
from typing import TYPE_CHECKING

import numpy as np

from jaxgames import pictures
from jaxgames.pictures import WIDTH, chip, group, move, words
from jaxgames.skullking.cards import (
    ABILITY_BENDT_1,
    ABILITY_BENDT_2,
    BET,
    BID,
    BIDDING,
    CHANGE,
    CHEST,
    DISCARD,
    ESCAPES,
    FIRST_NUMBERED,
    KRAKEN,
    LAST_NUMBERED,
    LEAD,
    LOOTS,
    MAP,
    MERMAIDS,
    NO_CARD,
    NUM_BETS,
    NUM_BIDS,
    NUM_LEADS,
    PARROT,
    PIRATES,
    PLAY,
    PLAY_TIGRESS_AS_ESCAPE,
    PLAY_TIGRESS_AS_PIRATE,
    PLAYING,
    ROGER,
    SKULL_KING,
    SUIT_NAMES,
    TIGRESS,
    WHALE,
    card_name,
)
from jaxgames.skullking.observe import has_discarded, known_cards
from jaxgames.skullking.render import open_trick

if TYPE_CHECKING:
    from jaxgames.skullking.env import SkullKingEnv
    from jaxgames.skullking.state import State

# Symbol and tone of each suit.
SUITS = {
    ROGER: ("skull", "jg-black"),
    PARROT: ("parrot", "jg-green"),
    MAP: ("map", "jg-purple"),
    CHEST: ("chest", "jg-ochre"),
}
SPECIALS = {
    SKULL_KING: ("king", "jg-red", "King"),
    WHALE: ("whale", "jg-blue", "Whale"),
    KRAKEN: ("kraken", "jg-red", "Kraken"),
    TIGRESS: ("tigress", "jg-red", "Tigress"),
    **dict.fromkeys(MERMAIDS, ("mermaid", "jg-blue", "Mermaid")),
    **{card: ("pirate", "jg-red", card_name(card)) for card in PIRATES},
    **dict.fromkeys(ESCAPES, ("escape", "jg-blue", "Escape")),
    **dict.fromkeys(LOOTS, ("loot", "jg-ochre", "Loot")),
}
TASKS = (
    "bid",
    "play a card",
    "Rosie: choose who leads",
    "Bendt: discard a card",
    "Bendt: discard a second card",
    "Roatán: bet on the own bid",
    "Jade: look through the stock",
    "Harry: change the own bid",
)


def picture(env: "SkullKingEnv", state: "State", player: int | None = None, moves: bool = True) -> str:
    """SVG; `moves` marks what the viewer may do now."""
    state = pictures.on_host(state)
    legal = pictures.legal_moves(env, state, player) if moves else {}
    size = env.hand_sizes[int(state.round)]
    detail = (
        f"Round {int(state.round) + 1} of {len(env.hand_sizes)}, trick {min(int(state.tricks) + 1, size)} of {size}"
    )
    task = TASKS[int(state.phase)]
    y = pictures.HEADER
    parts = [pictures.headline(env, state, player, task, detail), group(table(env, state, player), y=y)]
    y += pictures.TABLE_HEIGHT + 8
    parts.append(pictures.last_trick(trick_before(env, state), y))
    y += pictures.ROW + 4
    if player is None:
        hands = {seat: hand(state, seat, legal) for seat in range(env.num_players)}
        if any(hands.values()):  # not after the end
            parts.append(pictures.hand_rows(hands, y, int(state.current_player)))
            y += pictures.ROW * env.num_players
    else:
        parts.append(pictures.in_a_row(hand(state, player, legal), y))
        y += 84
    parts.append(pictures.button_row(y, legal, button_labels(env, state)))
    y += 44
    known = secrets(env, state, player)
    parts += [words(8, y + 14 + 19 * i, line, "jg-soft", room=WIDTH - 16) for i, line in enumerate(known)]
    return pictures.sheet(env, state, player, y + 19 * len(known), parts)


def draw(card: int, x: float, y: float, w: float, h: float, as_pirate: bool | None = None) -> str:
    """A card face up; the Tigress on the table as what she was declared."""
    if FIRST_NUMBERED <= card <= LAST_NUMBERED:
        suit, number = divmod(card - FIRST_NUMBERED, 14)
        return pictures.face(x, y, w, h, number + 1, *SUITS[suit + 1])
    symbol, tone, label = SPECIALS[card]
    if card == TIGRESS and as_pirate is not None:
        symbol, label = ("pirate", "Tigress") if as_pirate else ("escape", "Tigress")
    if w < 40 and card not in PIRATES and not (card == TIGRESS and as_pirate is not None):
        label = ""
    return pictures.face(x, y, w, h, "", symbol, tone, label)


def table(env: "SkullKingEnv", state: "State", player: int | None) -> str:
    """The seats around the open trick."""
    cards = open_trick(state)
    winners = pictures.winners(env, state)
    as_pirate = bool(state.tigress_is_pirate)

    def seat_plate(seat, x, y):
        return pictures.plate(
            x,
            y,
            seat,
            player,
            score=int(state.total[seat]),
            lines=[bid_words(state, seat, player)],
            extra=signs(state, seat),
            is_turn=not state.terminated and int(state.current_player) == seat,
            is_winner=bool(winners[seat]),
        )

    drawn = pictures.trick_table(
        pictures.around(env.num_players, player),
        {seat: functools.partial(seat_plate, seat) for seat in range(env.num_players)},
        {
            seat: functools.partial(draw, int(card), as_pirate=as_pirate)
            for seat, card in enumerate(cards)
            if card != NO_CARD
        },
        int(state.leader) if state.phase == PLAYING and not state.terminated else -1,
    )
    return drawn + led(env, state, cards)


def led(env: "SkullKingEnv", state: "State", cards: np.ndarray) -> str:
    """SK-11: what the trick asks for, in the middle of the table."""
    order = [int(cards[(int(state.leader) + i) % env.num_players]) for i in range(env.num_players)]
    idle = (*ESCAPES, *LOOTS, NO_CARD, *(() if state.tigress_is_pirate else (TIGRESS,)))
    deciding = [card for card in order if card not in idle]
    if not deciding or state.terminated:
        return ""
    if not FIRST_NUMBERED <= deciding[0] <= LAST_NUMBERED:
        return words(240, 175, "free trick", "jg-ink", anchor="middle", size=15)
    suit = 1 + (deciding[0] - FIRST_NUMBERED) // 14
    return words(240, 166, "follow", "jg-ink", anchor="middle", size=15) + chip(228, 184, *SUITS[suit], size=24)


def bid_words(state: "State", seat: int, player: int | None) -> str:
    """Others' bids are known when all have bid (SK-7)."""
    bid, cards = int(state.bids[seat]), int((state.hand[seat] != NO_CARD).sum())
    is_shown = state.phase != BIDDING or player in (None, seat)
    shown = "–" if bid < 0 else bid if is_shown else "?"
    return (
        f"bid {shown}, {pictures.how_many(cards, 'card')}"
        if state.phase == BIDDING
        else f"won {int(state.won[seat])} of {shown}, {cards} left"
    )


def signs(state: "State", seat: int) -> str:
    """Shown voids, crossed out; then Harry armed, a bet, alliances."""
    parts, x = [], 8
    for suit in np.flatnonzero(state.voids[seat]):
        parts.append(chip(x, 50, *SUITS[int(suit) + 1], crossed=True, hint=f"has no {SUIT_NAMES[int(suit)]}"))
        x += 18
    said = []
    if int(state.harry) == seat:
        said.append("±1")
    if state.bets[seat]:
        said.append(f"bet {int(state.bets[seat])}")
    partners = [
        int(one if two == seat else two)
        for one, two in zip(state.loot_player, state.loot_winner, strict=True)
        if one >= 0 and seat in (one, two)
    ]
    if partners:
        said.append("ally " + ", ".join(map(str, partners)))
    if said:
        parts.append(words(x + 4, 55, ", ".join(said), "jg-soft", room=pictures.PLATE_WIDTH - 10 - x))
    return "".join(parts)


def trick_before(env: "SkullKingEnv", state: "State") -> dict[int, pictures.Drawing]:
    """The cards of the last complete trick, by seat."""
    number = int(state.tricks) - 1
    if number < 0:
        return {}
    as_pirate = bool(state.tigress_is_pirate)
    cards = enumerate(state.played[:, number])
    return {seat: functools.partial(draw, int(card), as_pirate=as_pirate) for seat, card in cards}


def hand(state: "State", seat: int, legal: dict[int, str]) -> list[pictures.Drawing]:
    """The cards of a seat; those of the player to move may be moves."""
    mine = legal if seat == int(state.current_player) else {}
    cards = [int(card) for card in state.hand[seat] if card != NO_CARD]
    return [functools.partial(hand_card, state, card, slot, mine) for slot, card in enumerate(cards)]


def hand_card(
    state: "State", card: int, slot: int, legal: dict[int, str], x: float, y: float, w: float, h: float
) -> str:
    """A card in hand: to be played or discarded, or neither."""
    drawing = draw(card, x, y, w, h)
    if not legal:
        return drawing
    if card == TIGRESS and PLAY_TIGRESS_AS_PIRATE in legal:
        return tigress_choice(legal, x, y, w, h)
    action = PLAY + slot if state.phase == PLAYING else DISCARD + slot
    if action in legal:
        return move(drawing, action, legal[action])
    asks_for_a_card = state.phase in (PLAYING, ABILITY_BENDT_1, ABILITY_BENDT_2)
    return group(drawing, class_="jg-dim") if asks_for_a_card else drawing


def tigress_choice(legal: dict[int, str], x: float, y: float, w: float, h: float) -> str:
    """SK-13: her upper half plays her as a pirate, her lower half as an escape."""
    halves = []
    for action, symbol, top in (
        (PLAY_TIGRESS_AS_PIRATE, "pirate", y),
        (PLAY_TIGRESS_AS_ESCAPE, "escape", y + h / 2),
    ):
        shape = pictures.box(x + 0.5, top + 0.5, w - 1, h / 2 - 1, "jg-face jg-edge", rx=w / 9)
        tone = SPECIALS[TIGRESS][1]
        signs = (
            pictures.icon("tigress", x + 0.28 * w, top + h / 4, 0.36 * w, tone),
            pictures.icon(symbol, x + 0.72 * w, top + h / 4, 0.36 * w, tone),
        )
        halves.append(move(shape + "".join(signs), action, legal[action]))
    return "".join(halves)


def button_labels(env: "SkullKingEnv", state: "State") -> dict[int, tuple[str, str, str]]:
    """What the buttons say: bids, leaders, bets, changes."""
    plain = ("", "jg-ink")
    mover = int(state.current_player)
    seats = {LEAD + k: f"Seat {(mover + k) % env.num_players}" for k in range(NUM_LEADS)}
    said = {
        **{BID + k: str(k) for k in range(NUM_BIDS)},
        **seats,
        **{BET + k: f"bet {10 * k}" for k in range(NUM_BETS)},
        CHANGE: "one less",
        CHANGE + 1: "keep it",
        CHANGE + 2: "one more",
        CHANGE + 3: "look",
    }
    return {action: (label, *plain) for action, label in said.items()}


def secrets(env: "SkullKingEnv", state: "State", player: int | None) -> list[str]:
    """What only Bendt's and Jade's users know."""
    lines = []
    if bool(has_discarded(state)) and player in (None, int(state.bendt)):
        lines.append("Discarded with Bendt: " + ", ".join(card_name(int(card)) for card in state.discards))
    if state.jade >= 0 and player in (None, int(state.jade)):
        seen = np.flatnonzero(np.asarray(known_cards(env, state, int(state.jade)).jade))
        lines += ["Jade saw in the stock:", *stock_lines(seen)]
    return lines


def stock_lines(cards: np.ndarray) -> list[str]:
    """A line for each suit, one for all else."""
    lines = []
    for suit, name in enumerate(SUIT_NAMES):
        numbers = [str(int(card) - 9 - 14 * suit) for card in cards if (card - 10) // 14 == suit and 10 <= card <= 65]
        lines.append(f"{name}: {' '.join(numbers) or 'none'}")
    lines.append(", ".join(card_name(int(card)) for card in cards if not 10 <= card <= 65) or "no others")
    return lines
