"""The variables that a command gets besides those of a login: one for each secret that it names."""

import re

from shared.domain.secret import VARIABLE

_NAMED = re.compile(rf"\b{VARIABLE}[A-Za-z][A-Za-z0-9_]*")


def variables_in(command: str) -> tuple[str, ...]:
    """Their names in a command as it reaches its host, each once."""
    return tuple(dict.fromkeys(_NAMED.findall(command))) if VARIABLE in command else ()
