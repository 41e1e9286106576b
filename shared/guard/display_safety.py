"""Checks that a text shows a person exactly what would run."""

import re
import unicodedata

from shared.guard.findings import Doubt

MOST_BYTES = 64 * 1024
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp", "Zs"})


def objection(text: str) -> Doubt | None:
    """Why a reader cannot trust the text, or None: its size, control or invisible characters."""
    if len(text) > MOST_BYTES:
        return _too_long()
    if found := _CONTROL.search(text):
        return _hidden(found[0])
    if text.isascii():
        return None
    for character in text:
        if not character.isascii() and _invisible(character):
            return _hidden(character)
    if len(text.encode()) > MOST_BYTES:
        return _too_long()
    return None


def _invisible(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN or character in _BLANK_LETTERS


def _hidden(character: str) -> Doubt:
    name = f"U+{ord(character):04X}"
    reason = f"it holds the character {name}, which a reader cannot see or which moves the text"
    return Doubt("hidden-character", reason, name)


def _too_long() -> Doubt:
    return Doubt("too-long", f"it is longer than {MOST_BYTES} bytes")
