"""Variables of the environment that a planner may not see: by their names they hold a secret."""

import re

from shared.domain.secret import VARIABLE

_USE = re.compile(r"\$\{?[#!]?([A-Za-z_][A-Za-z0-9_]*)")
_SETS = r"\b{0}\+?=|\b(?:read|for|local|export|getopts)\b[^;\n]*\b{0}\b"
_SECRET = re.compile(
    r"SECRET|TOKEN|PASSW|PASSPHRASE|_PWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE|_KEY$|_AUTH$|_DSN$",
    re.IGNORECASE,
)


def hidden_variable(command: str) -> str | None:
    """The first variable in a command whose name tells that it holds a secret; None for none."""
    return next((name for name in _USE.findall(command) if _SECRET.search(name)), None)


def shown_variable(command: str) -> str | None:
    """The first such variable that a text uses and does not set itself; None for none.

    Those by which replan hands a secret over are judged where they go.
    """
    for name in map(str, _USE.findall(command)):
        if not _SECRET.search(name):
            continue
        if not name.startswith(VARIABLE) and not re.search(_SETS.format(name), command):
            return name
    return None
