"""The kinds of value that documents and answers are made of."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from shared.domain.config import LIMITS
from shared.domain.secret import BadName, names_secret, secret_names
from shared.domain.spending import LEAST, MOST

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SPAN = re.compile(rf"(?:{_PART.pattern})+|\d+(?:\.\d+)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_SHORTEST, _LONGEST = LIMITS["subtask_timeout"]
_LEAST_DOLLARS, _MOST_DOLLARS = float(LEAST), float(MOST)


def seconds(text: str) -> float:
    """The span in seconds: `90`, `90s`, `5m`, `1h30m`; raises ValueError for anything else."""
    if _SPAN.fullmatch(text) is None:
        raise ValueError(text)
    parts = _PART.findall(text)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) if parts else float(text)


def _span(given: Any) -> float:
    span = _seconds_of(given)
    if span is None or not _SHORTEST <= span <= _LONGEST:
        raise PydanticCustomError(
            "span",
            "{given} is not a timeout; allowed: seconds as a number, or 90s, 5m, 2h; "
            "at least {shortest} s, at most {longest} s",
            {"given": repr(given)[:60], "shortest": f"{_SHORTEST:g}", "longest": f"{_LONGEST:g}"},
        )
    return span


def _seconds_of(given: Any) -> float | None:
    try:
        if isinstance(given, str):
            return seconds(given.strip())
        return float(given) if isinstance(given, (int, float)) and given is not True else None
    except (ValueError, OverflowError):
        return None


def _dollars(given: Any) -> float:
    is_number = isinstance(given, int | float) and given is not True
    if is_number and _LEAST_DOLLARS <= given <= _MOST_DOLLARS:
        return float(given)
    raise PydanticCustomError(
        "dollars",
        "{given} is not an amount in dollars; allowed: from {least} to {most}",
        {"given": repr(given)[:60], "least": f"{LEAST:f}", "most": f"{MOST:.0f}"},
    )


def _key(given: Any) -> str:
    text = str(given) if isinstance(given, int) and not isinstance(given, bool) else given
    if not isinstance(text, str) or _KEY.fullmatch(text) is None:
        raise PydanticCustomError(
            "key",
            "{given} is not a name; allowed: up to 64 letters, digits, and - _ . after the first",
            {"given": repr(given)[:60]},
        )
    return text


def _storable(text: str) -> str:
    bad = next((c for c in text if c == "\0" or "\ud800" <= c <= "\udfff"), None)
    if bad is not None:
        raise PydanticCustomError(
            "unstorable",
            "the character {character} cannot be part of a command or a text",
            {"character": f"U+{ord(bad):04X}"},
        )
    return text


def _command(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "is empty; leave the key out or give a command", {})
    try:
        secret_names(text)
    except BadName as error:
        raise PydanticCustomError("secret", "{told}", {"told": str(error)}) from None
    return text


def _goal(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "is empty; say what the agent is to do", {})
    if names_secret(text):
        raise PydanticCustomError(
            "secret_in_goal",
            "names a secret, and a goal is sent to a model; let a command of the step use it",
            {},
        )
    return text


Dollars = Annotated[
    float,
    BeforeValidator(_dollars),
    WithJsonSchema({"type": "number", "minimum": _LEAST_DOLLARS, "maximum": _MOST_DOLLARS}),
]
"""An amount in US dollars that something may cost."""

Span = Annotated[
    float,
    BeforeValidator(_span),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": _SHORTEST, "maximum": _LONGEST},
                {"type": "string", "pattern": rf"^\s*({_SPAN.pattern})\s*$"},
            ],
            "description": "Seconds as a number, or a text such as 90s, 5m, 1h30m.",
        }
    ),
]
"""A timeout in seconds, given as a number or as text with a unit."""

Key = Annotated[
    str,
    BeforeValidator(_key),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": f"^{_KEY.pattern}$"}, {"type": "integer"}]}
    ),
]
"""The name of a step or a subtask; a number counts as its digits."""

Name = Annotated[str, AfterValidator(_key)]
"""The same, but only as text."""

Text = Annotated[str, Field(max_length=100_000), AfterValidator(_storable)]
"""Text that a database and a command line can hold: no NUL, nothing that is not Unicode."""

Command = Annotated[Text, Field(min_length=1), AfterValidator(_command)]
"""A command: text that is not blank, and names secrets as they can be named."""

Goal = Annotated[Text, Field(min_length=1), AfterValidator(_goal)]
"""The goal of an agent: text that is not blank, and names no secret."""
