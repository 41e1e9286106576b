"""The masks that replace secrets in a text."""

import re

OPEN, CLOSE = "‹", "›"
"""Rare in output, one character each, and never part of an accepted value."""

MARK = re.compile("‹(?:secret|masked):[A-Za-z0-9_-]{1,64}›".encode())
"""A mask in bytes."""

MEANING = (
    f"Where you read {OPEN}secret:NAME{CLOSE}, the value of the secret NAME stood; where you read "
    f"{OPEN}masked:KIND{CLOSE}, something that looks like a secret of that kind. The values were "
    "taken out before you were asked and cannot be had. Never write such a mask into a command: "
    "write ${secret:NAME} where a command needs the value, bare or between double quotes."
)
"""What a model is told about masks (X19)."""


def mask_of(name: str) -> str:
    """The mask of a secret's value."""
    return f"{OPEN}secret:{name}{CLOSE}"


def mask_for(kind: str) -> str:
    """The mask of text that has the form of a secret; `kind` says which form."""
    return f"{OPEN}masked:{kind}{CLOSE}"
