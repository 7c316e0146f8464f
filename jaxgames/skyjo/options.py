"""The options of a game, checked, and the rules that follow from them (section 2 of the rules page)."""

from typing import Any, NamedTuple

from jaxgames.options import check_bool, check_choice, check_int

GAME = "skyjo"
SETUP_MODES = ("auto", "manual")
ACTION_MODES = ("macro", "decision")
REWARD_MODES = ("mixed", "win_loss", "round_score", "score_margin")
TIE_RULES = ("lowest_index", "shared")
ENDER_DOUBLES = ("positive", "any")
CLEARED_CARDS = ("out", "discard")
LATER_STARTS = ("highest_sum", "ender")

# The six options that a ruleset bundles: this page's choice, the printed rules, and SkyNet's.
SINGLE_OPTIONS = (
    "ender_tie_doubles",
    "ender_double",
    "max_clears_per_round",
    "cleared_cards",
    "final_reveal_clears",
    "later_start",
)
RULESETS: dict[str, tuple[Any, ...]] = {
    "base": (True, "positive", 4, "out", False, "highest_sum"),
    "official": (True, "positive", 4, "discard", True, "ender"),
    "skynet": (False, "any", 1, "out", False, "highest_sum"),
}


class Rules(NamedTuple):
    """What the rooms of this game need to know of the options: every choice made, nothing left to a default."""

    num_players: int
    manual_setup: bool
    look_first: bool  # decision mode: a drawn card is seen before the choice
    history: int  # K, rows of public history kept
    score_limit: int
    max_steps: int
    reward_mode: str
    shared_wins: bool
    ender_tie_doubles: bool
    doubles_any: bool  # also totals of zero and less
    max_clears: int
    clears_to_discard: bool
    final_reveal_clears: bool
    ender_starts: bool  # from round 2


def resolve(options: Any) -> Rules:
    """The rules that an env's fields describe; a ValueError that names the bad one otherwise (SJ-5)."""
    setup_mode = options.setup_mode
    if isinstance(setup_mode, str):
        setup_mode = setup_mode.strip().lower()
    check_choice(GAME, "setup_mode", setup_mode, SETUP_MODES)
    manual = check_bool(GAME, "manual_initial_reveals", options.manual_initial_reveals) or setup_mode == "manual"
    defaults = RULESETS[check_choice(GAME, "ruleset", options.ruleset, tuple(RULESETS))]
    single = {
        name: default if getattr(options, name) is None else getattr(options, name)
        for name, default in zip(SINGLE_OPTIONS, defaults, strict=True)
    }
    return Rules(
        num_players=check_int(GAME, "num_players", options.num_players, 2, 8),
        manual_setup=manual,
        look_first=check_choice(GAME, "action_mode", options.action_mode, ACTION_MODES) == "decision",
        history=check_int(GAME, "history_window_k", options.history_window_k, 0, 128),
        score_limit=check_int(GAME, "score_limit", options.score_limit, 1, 1000),
        max_steps=check_int(GAME, "max_steps", options.max_steps, 1, 1_000_000),
        reward_mode=check_choice(GAME, "reward_mode", options.reward_mode, REWARD_MODES),
        shared_wins=check_choice(GAME, "tie_rule", options.tie_rule, TIE_RULES) == "shared",
        ender_tie_doubles=check_bool(GAME, "ender_tie_doubles", single["ender_tie_doubles"]),
        doubles_any=check_choice(GAME, "ender_double", single["ender_double"], ENDER_DOUBLES) == "any",
        max_clears=check_int(GAME, "max_clears_per_round", single["max_clears_per_round"], 0, 4),
        clears_to_discard=check_choice(GAME, "cleared_cards", single["cleared_cards"], CLEARED_CARDS) == "discard",
        final_reveal_clears=check_bool(GAME, "final_reveal_clears", single["final_reveal_clears"]),
        ender_starts=check_choice(GAME, "later_start", single["later_start"], LATER_STARTS) == "ender",
    )
