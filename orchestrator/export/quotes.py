"""Takes a number out of quotes and here-documents, where no parameter may stand; pure."""

import re

_FILE = r">>? ?[\w./~+${}-]+"
_WRITTEN = re.compile(
    rf"cat (?P<to>{_FILE}) <<'(?P<end>\w+)'\n(?P<body>(?:.*\n)*?)(?P=end)(?=\n|$)"
    rf"|cat <<'(?P<before>\w+)' (?P<into>{_FILE})\n(?P<text>(?:.*\n)*?)(?P=before)(?=\n|$)"
)
"""A file that is written from a here-document in which the shell replaces nothing."""

_EVALUATES = re.compile(r"(?:^|\s)(?:-\w*c|-e|eval|ssh|<<)(?:\s|$|['\"-])")
"""What may read a text in quotes as code, or as words of its own."""


def opened(command: str, number: re.Pattern[str]) -> str:
    """The command with its quotes closed before the number and opened again behind it.

    Files that are written from a here-document with the number are printed instead: with the same
    bytes. A command in which something may read what is quoted as code stays as it was.
    """
    printed = _WRITTEN.sub(
        lambda found: _printed(found) if number.search(_body(found)) else found[0], command
    )
    if _EVALUATES.search(printed):
        return command
    parts, at, quotes = [], 0, ""
    for found in number.finditer(printed):
        before = printed[at : found.start()]
        quotes = _open_at_end(before, quotes)
        parts += [before, quotes, found[0], quotes]
        at = found.end()
    return "".join([*parts, printed[at:]])


def _body(found: re.Match[str]) -> str:
    return found["body"] if found["to"] else found["text"]


def _printed(found: re.Match[str]) -> str:
    quoted = _body(found).removesuffix("\n").replace("'", "'\\''")
    return f"printf '%s\\n' '{quoted}' {found['to'] or found['into']}"


def _open_at_end(text: str, quotes: str) -> str:
    """The quotes that are open after a text before which these were."""
    escaped = False
    for each in text:
        if escaped:
            escaped = False
        elif each == "\\" and quotes != "'":
            escaped = True
        elif each in "'\"" and quotes in {"", each}:
            quotes = "" if quotes else each
    return quotes
