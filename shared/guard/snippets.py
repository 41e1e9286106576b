"""Snippets of kind `code` that nobody has to see: they only say what `result` is."""

import re
import shlex

from shared.domain.snippet import CODA, is_literal

_COMMAND = re.compile(r"ulimit -t \d{1,9}; ulimit -v \d{1,9}; python3 -I -c (.*)", re.DOTALL)


def only_says(command: str) -> bool:
    """Whether a command runs a snippet that sets `result` to plain values, and does nothing else.

    The interpreter reads no file of the folder it runs in, nor a variable that steers it (`-I`).
    """
    found = _COMMAND.fullmatch(command)
    if found is None:
        return False
    try:
        words = shlex.split(found[1])
    except ValueError:
        return False
    if len(words) != 1 or shlex.quote(words[0]) != found[1] or not words[0].endswith(CODA):
        return False
    return is_literal(words[0].removesuffix(CODA))
