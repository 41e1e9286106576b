"""Parameters in a runbook: `${name}` becomes the value, quoted for the shell where it must be."""

import re
from collections.abc import Mapping
from shlex import quote
from typing import Any

_PLACE = re.compile(r"\$\{([a-z][a-z0-9_]*)\}")

_SHELL_TEXT = frozenset({"run", "command", "check", "rollback", "preconditions"})
"""The keys of a plan file whose values a shell reads."""


def fill(value: Any, parameters: Mapping[str, str], *, shell: bool = False) -> Any:
    """A document with the parameters filled in.

    Only lower-case names that are parameters are replaced: `${HOME}` stays the shell's own. In what
    a shell reads the value is quoted, so that it is one word whatever it holds; therefore it is
    never written inside quotes in a runbook.
    """
    match value:
        case str():
            return _PLACE.sub(lambda found: _filled(found, parameters, shell), value)
        case list():
            return [fill(item, parameters, shell=shell) for item in value]
        case dict():
            return {
                key: fill(item, parameters, shell=shell or key in _SHELL_TEXT)
                for key, item in value.items()
            }
    return value


def _filled(found: re.Match[str], parameters: Mapping[str, str], shell: bool) -> str:
    given = parameters.get(found[1])
    if given is None:
        return found[0]
    return quote(given) if shell else given
