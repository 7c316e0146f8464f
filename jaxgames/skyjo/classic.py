"""The classic Python surface (section 11 of the rules page): one game, a seed, dictionaries, exceptions.

A host-side shell: every rule is that of the functional environment, `jaxgames.skyjo.SkyjoEnv`.
"""

import collections
from typing import Any

import jax
import numpy as np

import jaxgames
from jaxgames.env import Deal
from jaxgames.host import Game
from jaxgames.options import check_int
from jaxgames.skyjo import env as functional
from jaxgames.skyjo.cards import (
    HISTORY_UNKNOWN,
    RECORD_FIELDS,
    UNKNOWN_VALUE,
    DecisionPhase,
    Hand,
    Phase,
    Record,
    Slot,
    action_to_macro,
    macro_to_action,
)
from jaxgames.skyjo.chance import draw_order
from jaxgames.skyjo.facts import decision_phase, phase
from jaxgames.skyjo.render import name_and_position
from jaxgames.skyjo.state import State


class SkyjoEnv:
    """One game of Skyjo with a seed. `options` are those of `jaxgames.skyjo.SkyjoEnv`.

    >>> game = SkyjoEnv(num_players=2, seed=7)
    >>> observation, rewards, terminated, info = game.step(game.legal_actions()[0])
    """

    def __init__(self, num_players: int = 2, seed: int = 0, **options: object):
        self.env = jaxgames.make("skyjo", num_players=num_players, **options)
        self.seed = check_int("skyjo", "seed", seed, 0, 2**32 - 1)
        self.reset()

    def reset(self, seed: int | None = None, deal: Deal | None = None) -> dict[str, Any]:
        """A new game from `seed` (default: the last one given) or from an explicit `deal`; the first observation."""
        if seed is not None:
            self.seed = check_int("skyjo", "seed", seed, 0, 2**32 - 1)
        self.game = Game(self.env, seed=self.seed, deal=deal)
        # Step and round of the records that the state keeps: tokens do not hold them.
        self._written: collections.deque[tuple[int, int]] = collections.deque(maxlen=self.env.history_window_k)
        self._written.extend((0, 1) for _ in range(int(self.state.history_size)))
        return self.observe(self.current_player)

    macro_to_action = staticmethod(macro_to_action)
    action_to_macro = staticmethod(action_to_macro)

    @property
    def state(self) -> State:
        """The state of the functional environment, numpy."""
        return self.game.state

    @property
    def current_player(self) -> int:
        return self.game.player

    @property
    def scores(self) -> list[int]:
        return self.state.scores.tolist()

    def legal_actions(self) -> list[int]:
        """Sorted ids; [] when the game is finished."""
        return self.game.legal

    def winners(self) -> list[int]:
        """Who won; [] before the end and after a cut."""
        return self.game.winners

    @property
    def phase(self) -> str:
        return Phase(int(_phase(self.state))).name

    @property
    def decision_phase(self) -> str:
        return DecisionPhase(int(_decision_phase(self.state))).name

    def step(self, action_id: int) -> tuple[dict[str, Any], dict[str, float], bool, dict[str, Any]]:
        """(observation of the next player, rewards, terminated, info). A ValueError for an illegal action."""
        before = self.state
        if before.done:
            raise RuntimeError("skyjo: the game is over; call reset() to start a new one")
        legal = self.legal_actions()
        is_int = isinstance(action_id, int | np.integer) and not isinstance(action_id, bool)
        if not is_int or action_id not in legal:
            raise ValueError(f"skyjo: action must be one of the legal ids {legal}, got {action_id!r}")
        self.game.step(int(action_id))
        self._date_records(before)
        name, position = name_and_position(self.env, before, int(action_id))
        rewards = {f"player_{seat}": float(reward) for seat, reward in enumerate(self.state.rewards)}
        info = {
            "actor": int(before.current_player),
            "action_id": int(action_id),
            "macro_action": name,
            "position": position,
            "phase": self.phase,
            "legal_actions_next": self.legal_actions(),
            "round_index": int(self.state.round_index),
            "scores": self.state.scores.tolist(),
            "round_scores": self.state.round_scores.tolist(),
            "truncated": bool(self.state.truncated),
        }
        if self.env.action_mode == "decision":
            info["decision_phase"] = self.decision_phase
        return self.observe(self.current_player), rewards, bool(self.state.terminated), info

    def observe(self, observer_player: int, history_k: int | None = None) -> dict[str, Any]:
        """What one player may know, as named lists and numbers; at most `history_k` records of history."""
        player = check_int("skyjo", "observer_player", observer_player, 0, self.env.num_players - 1)
        length = self.env.history_window_k
        if history_k is not None:
            length = check_int("skyjo", "history_k", history_k, 0, self.env.history_window_k)
        parts = self.game.view(player, "tokens")
        history, recent = (
            [row.tolist() for row in rows[len(rows) - length :] if row[0] != HISTORY_UNKNOWN]
            for rows in (parts["action_tokens"], parts["action_tokens_since_last_turn"])
        )
        tokens = {name: part.tolist() for name, part in parts.items() if name != "decision_token"}
        tokens |= {"action_tokens": history, "action_tokens_since_last_turn": recent}
        observation = {
            "observer": player,
            "phase": self.phase,
            "current_player": self.current_player,
            "scores": self.state.scores.tolist(),
            "round_scores": self.state.round_scores.tolist(),
            "deck_size": int(parts["global_token"][0]),
            "discard_top": int(parts["discard_token"][0]),
            "discard_pile": _discard_pile(self.state),
            "board_views": _board_views(self.state),
            "history": self._dated(history),
            "history_since_last_turn": self._dated(recent),
            "tokens": tokens,
        }
        if self.env.action_mode == "decision":
            tokens["decision_token"] = parts["decision_token"].tolist()
            observation |= {
                "decision_phase": self.decision_phase,
                "decision_phase_id": int(parts["decision_token"][0]),
                "current_drawn_value": int(parts["decision_token"][1]),
            }
        return observation

    def get_full_state(self) -> dict[str, Any]:
        """Everything, hidden cards included, and the seed."""
        return full_state(self.env, self.state) | {"seed": self.seed}

    def _date_records(self, before: State) -> None:
        """Remember step and round of the records just written; those after a ROUND_END are of the new round."""
        count = int(self.state.history_size - before.history_size)
        in_new_round = 0
        if self.state.round_index > before.round_index:
            in_new_round = 0 if self.env.manual_setup else 2 * self.env.num_players
        for i in range(count):
            is_new = i >= count - in_new_round
            self._written.append(
                (int(self.state.step_count), int(self.state.round_index if is_new else before.round_index))
            )

    def _dated(self, rows: list[list[int]]) -> list[dict[str, Any]]:
        """The newest records, as dictionaries in the words of SJ-45."""
        dates = list(self._written)[len(self._written) - len(rows) :]
        return [
            {"step_index": step, "round_index": round_index}
            | dict(zip(RECORD_FIELDS, row, strict=True))
            | {"action_type": Record(row[1]).name}
            for (step, round_index), row in zip(dates, rows, strict=True)
        ]


def full_state(env: functional.SkyjoEnv, state: State) -> dict[str, Any]:
    """A state in plain Python (section 11), as the recorded games hold it."""
    state = jax.device_get(state)
    order = np.asarray(_draw_order(state))[int(state.deck_pos) : int(state.deck_end)]
    full = {
        "num_players": env.num_players,
        "round_index": int(state.round_index),
        "global_step": int(state.step_count),
        "turns_in_round": int(state.turns_in_round),
        "phase": Phase(int(_phase(state))).name,
        "current_player": int(state.current_player),
        "scores": state.scores.tolist(),
        "round_scores": state.round_scores.tolist(),
        "deck_order_remaining": order[::-1].tolist(),
        "discard_pile": _discard_pile(state),
        "boards": [
            {
                "cards": [None if gone else card for card, gone in zip(cards.tolist(), removed, strict=True)],
                "visible": (status != Slot.HIDDEN).tolist(),
                "removed": removed.tolist(),
            }
            for cards, status in zip(state.cards, state.status, strict=True)
            for removed in [status == Slot.REMOVED]
        ],
        "setup_reveals_remaining": state.reveals_left.tolist(),
        "round_ender": int(state.ender) if state.ender >= 0 else None,
        "pending_final_turn_players": np.flatnonzero(state.final_turns).tolist(),
        "column_clears_this_round": state.clears.tolist(),
        "game_over": bool(state.done),
        "public_history_size": int(state.history_size),
    }
    if env.action_mode == "decision":
        use = Hand(int(state.hand_use))
        keeps = {Hand.FROM_DISCARD: True, Hand.KEPT: True, Hand.THROWN: False}
        source = "discard" if use == Hand.FROM_DISCARD else "deck"
        full |= {
            "decision_phase": DecisionPhase(int(_decision_phase(state))).name,
            "pending_source": None if use == Hand.EMPTY else source,
            "pending_value": None if use == Hand.EMPTY else int(state.hand),
            "pending_keep": keeps.get(use),
        }
    return full


def _discard_pile(state: State) -> list[int]:
    return state.discard[: int(state.discard_size)].tolist()


def _board_views(state: State) -> dict[int, dict[str, list[int]]]:
    """What everyone sees of each board."""
    values = np.where(
        state.status == Slot.FACE_UP, state.cards, np.where(state.status == Slot.HIDDEN, UNKNOWN_VALUE, 0)
    )
    return {
        owner: {
            "values": values[owner].tolist(),
            "visible_mask": (state.status[owner] != Slot.HIDDEN).astype(int).tolist(),
            "removed_mask": (state.status[owner] == Slot.REMOVED).astype(int).tolist(),
        }
        for owner in range(len(values))
    }


_draw_order, _phase, _decision_phase = jax.jit(draw_order), jax.jit(phase), jax.jit(decision_phase)
