"""What a page may say, checked like any input: a bad message is a sentence, and the game goes on."""

import json
from typing import Any

from jaxgames.options import UserError

MAX_LETTERS = 300_000  # a record of a long game fits; nothing else needs a hundredth of it

# Each kind of message: its fields with the type that each must have.
KINDS: dict[str, dict[str, type]] = {
    "open": {"game": str, "options": dict, "seats": list},
    "load": {"record": str, "seats": list},
    "sit": {"key": str},
    "move": {"action": int, "step": int},
    "undo": {},
    "again": {},
    "pause": {"paused": bool},
    "hint": {"agent": str},
    "belief": {},
    "record": {},
}


def read(text: str | bytes) -> dict[str, Any]:
    """A message of one of `KINDS` with exactly its fields; a UserError that says what is wrong with it."""
    if len(text) > MAX_LETTERS:
        raise UserError(f"a message may have {MAX_LETTERS} letters, this one has {len(text)}")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError("a message must be JSON") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str) or message["type"] not in KINDS:
        raise UserError(f"a message must be an object whose type is one of {', '.join(KINDS)}")
    fields = KINDS[message["type"]]
    if set(message) != {"type", *fields}:
        raise UserError(f"{message['type']}: its fields are {', '.join(fields) or 'none'}")
    for name, kind in fields.items():
        value = message[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise UserError(f"{message['type']}: {name} must be {_WORDS[kind]}")
    if "seats" in fields and not all(isinstance(spec, str) and 0 < len(spec) <= 80 for spec in message["seats"]):
        raise UserError(f"{message['type']}: seats must be names of players")
    if any(isinstance(message.get(name), int) and abs(message[name]) > 2**31 for name in ("action", "step")):
        raise UserError(f"{message['type']}: numbers must have 32 bits")
    return message


_WORDS = {str: "text", int: "a whole number", dict: "an object", list: "a list", bool: "true or false"}
