"""Parameters in a runbook: `${name}` becomes the value, quoted for who will read it."""

import re
from collections.abc import Callable, Mapping
from shlex import quote
from typing import Any

_PLACE = re.compile(r"\$\{([a-z][a-z0-9_]*)\}")

_SHELL_TEXT = frozenset({"run", "command", "check", "rollback", "preconditions"})
"""The keys of a plan file whose values a shell reads."""

_CODE_TEXT = frozenset({"run", "command"})
"""The keys of a subtask of kind `code` whose values Python reads."""

Written = Callable[[str], str]
"""How a value is written down for its reader."""


def fill(value: Any, parameters: Mapping[str, str], *, written: Written = str) -> Any:
    """A document with the parameters filled in.

    Only lower-case names that are parameters are replaced: `${HOME}` stays the shell's own. In what
    a shell reads the value is quoted, so that it is one word whatever it holds; in a snippet of
    Python it is a text. Therefore it is never written inside quotes in a runbook.
    """
    match value:
        case str():
            return _PLACE.sub(lambda found: _filled(found, parameters, written), value)
        case list():
            return [fill(item, parameters, written=written) for item in value]
        case dict():
            code = value.get("kind") == "code"
            return {
                key: fill(item, parameters, written=_writing(key, written, code=code))
                for key, item in value.items()
            }
    return value


def _writing(key: str, around: Written, *, code: bool) -> Written:
    if code and key in _CODE_TEXT:
        return repr
    return quote if key in _SHELL_TEXT else around


def _filled(found: re.Match[str], parameters: Mapping[str, str], written: Written) -> str:
    given = parameters.get(found[1])
    return found[0] if given is None else written(given)
