"""The figures that the rules pages give for their rule-based players, to be measured again by a tournament."""

import math
from typing import NamedTuple

from jaxgames import Env

Value = tuple[float, float]  # with its standard error; nan where the page does not say


class Line(NamedTuple):
    """One line of a page: what `one` achieves against `rest`."""

    one: str
    rest: str
    figures: dict[str, Value]
    options: dict[str, object]  # of the game, as far as they matter
    protocol: str = ""


def reference(env: Env, protocol: str, one: str, rest: str, figure: str) -> Value | None:
    """What the rules page has for this, or None."""
    for line in PAGES.get(env.id, []):
        fits = all(env.options[name] == value for name, value in line.options.items())
        if fits and (line.one, line.rest, line.protocol) == (one, rest, protocol) and figure in line.figures:
            return line.figures[figure]
    return None


def percent(value: float, games: int) -> Value:
    share = value / 100
    return value, 100 * math.sqrt(share * (1 - share) / games)


def plain(value: float) -> Value:
    return value, math.nan


# Section 14: wins in %, mean totals of both, exact bids in %, over 1000 games; then abilities at a table of one kind.
SKULL_KING = {
    ("rule:hard", "random"): (94.8, 106, -180, 53),
    ("rule:easy", "random"): (87.3, 60, -179, 45),
    ("random", "rule:hard"): (0.2, -176, 113, 20),
    ("rule:hard", "rule:easy"): (37.6, 114, 68, 53),
    ("rule:hard", "rule:medium"): (27.0, 115, 104, 54),
    ("rule:hard,strength", "rule:hard"): (24.3, 116, 117, 53),
    ("rule:hard,random", "rule:hard"): (21.1, 93, 115, 50),
    ("rule:hard", "rule:hard"): (26.0, 116, 115, 54),
    ("random", "random"): (25.1, -179, -180, 20),
}
ABILITIES = {
    "random": (0.43, 0.23, -0.53, 0.13, 0.14, 0.36),
    "rule:hard,random": (0.61, 0.20, -0.60, 0.54, 0.24, 0.33),
    "rule:hard": (0.56, 0.20, -0.57, 0.61, 1.00, 1.00),
    "rule:hard,strength": (0.58, 0.19, -0.55, 0.56, 1.00, 1.00),
}
RATES = (
    "rosie_strategic_rate",
    "rosie_self_win_rate",
    "bendt_discard_quality",
    "roatan_bet_accuracy",
    "harry_save_rate",
    "harry_savable_rate",
)

# Section 15, two players: win share and games; points a round against itself.
SKYJO = {
    ("macro_greedy", "random"): (100, 300),
    ("ev_greedy", "random"): (100, 200),
    ("ev_greedy", "greedy_value_replacement"): (76, 250),
    ("ev_greedy", "information_first_flip"): (96, 250),
    ("ev_greedy", "column_hunter"): (76, 250),
    ("ev_greedy", "risk_aware_unknown_replacement"): (67, 250),
    ("ev_greedy", "end_round_aggro"): (79, 250),
    ("ev_greedy", "anti_discard"): (88, 250),
}
POINTS_A_ROUND = {"macro_greedy": 25.5, "ev_greedy": 22.6, "random": 78.0}


def two_players(one: str) -> dict[str, object]:
    return {"num_players": 2, "action_mode": "macro" if one == "macro_greedy" else "decision"}


# Section 17: gold found in %, by the number of players.
PATHS = {"random": {2: 1, 4: 3}, "rule_based": {2: 37, 4: 38}, "rule_based_rot": {2: 13, 4: 13}}  # 300 games
SIDES = {  # miners, saboteurs
    ("random", "random"): ({3: 0, 5: 0, 10: 0}, 150),
    ("role_greedy", "role_greedy"): ({3: 45, 4: 61, 5: 31, 6: 46, 7: 31, 8: 30, 9: 48, 10: 30}, 200),
    ("role_greedy", "random"): ({3: 71, 4: 83, 5: 72, 6: 80, 7: 68, 8: 70, 9: 81, 10: 75}, 200),
}

PAGES: dict[str, list[Line]] = {
    "skullking": [
        *(
            Line(
                one,
                rest,
                {
                    "wins_percent": percent(wins, 1000),
                    "score": plain(score),
                    "others_score": plain(others),
                    "exact_bids_percent": plain(exact),
                },
                {"num_players": 4, "hand_sizes": tuple(range(1, 11))},
            )
            for (one, rest), (wins, score, others, exact) in SKULL_KING.items()
        ),
        *(
            Line(one, one, dict(zip(RATES, map(plain, rates), strict=True)), {"num_players": 4})
            for one, rates in ABILITIES.items()
        ),
    ],
    "skyjo": [
        *(
            Line(one, rest, {"wins_percent": percent(share, games)}, two_players(one))
            for (one, rest), (share, games) in SKYJO.items()
        ),
        *(
            Line(one, one, {"points_a_round": plain(points)}, two_players(one))
            for one, points in POINTS_A_ROUND.items()
        ),
    ],
    "saboteur": [
        *(
            Line(one, one, {"gold_found_percent": percent(found, 300)}, {"variant": "paths", "num_players": num})
            for one, by_num in PATHS.items()
            for num, found in by_num.items()
        ),
        *(
            Line(
                miners,
                saboteurs,
                {"gold_found_percent": percent(found, games)},
                {"variant": "full", "rounds": 1, "num_players": num},
                "sides",
            )
            for (miners, saboteurs), (by_num, games) in SIDES.items()
            for num, found in by_num.items()
        ),
    ],
    "schafkopf": [
        Line("rule", "random_coward", {"cents": (5.3, 0.1)}, {}),
        Line("rule", "random", {"cents": (122, 1)}, {}),
        Line("random_coward", "random", {"cents": (114, 1)}, {}),
    ],
    "magictrick": [
        Line(
            "random",
            "random",
            {
                "points": plain(-1.99),
                "bid_made_percent": percent(12.5, 20_000),
                "prestige_percent": percent(3.3, 20_000),
                "highest_percent": percent(34.6, 20_000),
                "sole_highest_percent": percent(17.2, 20_000),
            },
            {"num_hands": 1},
        ),
        Line(
            "rule",
            "random",
            {
                "points": (0.12, 0.07),
                "bid_made_percent": percent(34.7, 1600),
                "highest_percent": percent(63.1, 1600),
            },
            {"num_hands": 1},
        ),
    ],
}
