"""SQL statements inside shell commands, as runs of a program named `sql`."""

import re

PROGRAM = "sql"
CLIENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "psql": ("c", ("command",)),
    "mysql": ("e", ("execute", "init-command")),
    "mariadb": ("e", ("execute", "init-command")),
    "sqlite3": ("", ("cmd",)),
    "sqlcmd": ("Qq", ()),
    "cockroach": ("e", ("execute",)),
}
"""Database clients, and the options whose value is SQL."""

_END = ";"
_LITERAL = ("'", "$")
_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$|\"(?:[^\"]|\"\")*\"|`[^`]*`|;|\w+|[^\s\w]",
    re.DOTALL,
)


MOST_CHARACTERS = 8192
"""Longer texts are not read."""


def statements(text: str) -> list[tuple[str, ...]]:
    """The statements of a text, in lower case and without comments; literals become `?`."""
    found: list[tuple[str, ...]] = []
    current: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == _END:
            found.append(tuple(current))
            current = []
        elif token.startswith(_LITERAL) and token not in _LITERAL:
            current.append("?")
        elif not token.startswith(("--", "/*")):
            current.append(token.strip('"`').lower())
    found.append(tuple(current))
    return [statement for statement in found if statement]
