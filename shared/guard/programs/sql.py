"""SQL as the client of each database reads it: tokens and statements.

No library does this for a guard: those that translate SQL (sqlglot) drop MySQL's executable
comments, take `U&"…"` for two names and know no commands of clients; the parser of PostgreSQL
(libpg_query) knows one dialect and not its client. What any version or setting of a server, or its
client, would read in another way is Unreadable here: a person decides.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal as Choice

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

MOST_CHARACTERS = 8192
"""Longer texts are not read."""


class SqlDialect(StrEnum):
    """The SQL of a database with that of its client."""

    POSTGRES = "postgres"
    MYSQL = "mysql"
    SQLITE = "sqlite"


DIALECTS: dict[str, SqlDialect] = {
    "psql": SqlDialect.POSTGRES,
    "cockroach": SqlDialect.POSTGRES,
    "mysql": SqlDialect.MYSQL,
    "mariadb": SqlDialect.MYSQL,
    "sqlite3": SqlDialect.SQLITE,
}
"""The dialect that each client speaks; a policy names these as kinds of operands."""


class UnreadableSql(ValueError):
    """The text may be read in another way by the database or its client; the message says why."""


TokenKind = Choice["word", "quoted", "string", "number", "sign"]


@dataclass(frozen=True, slots=True)
class SqlToken:
    """A part of a statement: `quoted` is a name in quotes, without them."""

    kind: TokenKind
    text: str


Statement = tuple[SqlToken, ...]

_SPACE = re.compile(r"[ \t\n\r\f]+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_PLAIN_STRING = re.compile(r"'(?:[^'\\]|'')*'")
_ESCAPED_STRING = re.compile(r"'(?:[^'\\]|''|\\.)*'", re.DOTALL)
_SQLITE_STRING = re.compile(r"'(?:[^']|'')*'")
_IN_DOUBLE_QUOTES = re.compile(r'"(?:[^"\\]|"")*"')
_IN_BACKTICKS = re.compile(r"`(?:[^`\\]|``)*`")
_IN_BRACKETS = re.compile(r"\[[^]]*\]")
_DOLLARS = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*)?\$")
_SIGNS = frozenset("()[]{}.,;+-*/%<>=!~^&|?@#:")
_STRING_PREFIXES = frozenset({"e", "b", "x", "n"})
_COMMENT_TROUBLE = re.compile(r"['\"`;\\]|/\*")
_MYSQL_CLIENT = frozenset({
    *("system", "source", "tee", "notee", "pager", "nopager", "edit", "delimiter", "connect"),
    *("charset", "prompt", "status", "quit", "exit", "go", "ego", "help", "print", "rehash"),
    *("warnings", "nowarning", "clear", "use", "query_attributes", "resetconnection"),
})  # fmt: skip
"""Words at the beginning of a line that the client `mysql` may take for itself."""


def statements_of(text: str, dialect: SqlDialect) -> list[Statement]:
    """The statements of a text, without comments; raises UnreadableSql."""
    found: list[Statement] = []
    current: list[SqlToken] = []
    for token in _Reader(text, dialect).tokens():
        if token == _END:
            found.append(tuple(current))
            current = []
        else:
            current.append(token)
    found.append(tuple(current))
    return [statement for statement in found if statement]


def statements(text: str, dialect: SqlDialect = SqlDialect.POSTGRES) -> list[tuple[str, ...]]:
    """The statements as words, in lower case; literals become `?`. Raises UnreadableSql."""
    return [
        tuple("?" if token.kind == "string" else token.text.lower() for token in statement)
        for statement in statements_of(text, dialect)
    ]


def likely_statements(text: str) -> list[tuple[str, ...]]:
    """What the statements of a text probably are that no dialect reads for certain."""
    found: list[list[str]] = [[]]
    for part in _LIKELY.findall(text):
        if part == _END.text:
            found.append([])
        elif not part.startswith("--"):
            found[-1].append(part.strip('"`').lower() if part[0] != "'" else "?")
    return [tuple(statement) for statement in found if statement]


_LIKELY = re.compile(r"'(?:[^'\\]|''|\\.)*'|\"[^\"]*\"|`[^`]*`|;|\w+|--[^\n]*|[^\s\w]")
_END = SqlToken("sign", ";")


class _Reader:
    """One pass over one text."""

    def __init__(self, text: str, dialect: SqlDialect) -> None:
        self._text = text
        self._dialect = dialect
        self._at = 0
        self._found: list[SqlToken] = []
        if len(text) > MOST_CHARACTERS:
            raise UnreadableSql("it is too long")
        self._refuse_lines_of_clients()

    def tokens(self) -> list[SqlToken]:
        """All tokens; raises UnreadableSql."""
        while self._at < len(self._text):
            if space := _SPACE.match(self._text, self._at):
                self._at = space.end()
            elif not self._comment():
                self._token()
        return self._found

    def _refuse_lines_of_clients(self) -> None:
        for line in self._text.splitlines():
            first = _WORD.match(line.strip())
            if self._dialect is SqlDialect.MYSQL and first and first[0].lower() in _MYSQL_CLIENT:
                raise UnreadableSql(f"the client may run `{first[0]}` itself")
            if self._dialect is SqlDialect.SQLITE and line.startswith((".", "#")):
                raise UnreadableSql("a line is a command of the client")

    def _comment(self) -> bool:
        text, at = self._text, self._at
        if text.startswith("/*", at):
            self._at = self._end_of_block(at)
            return True
        if text.startswith("--", at):
            if self._dialect is SqlDialect.MYSQL and text[at + 2 : at + 3].strip(" \t\n"):
                raise UnreadableSql("`--` without a blank behind it is a comment for some")
            self._at = self._end_of_line(at)
            return True
        if self._dialect is SqlDialect.MYSQL and text[at] == "#":
            self._at = self._end_of_line(at)
            return True
        return False

    def _end_of_line(self, at: int) -> int:
        found = re.compile(r"[\n\r]").search(self._text, at)
        if found and found[0] == "\r":
            raise UnreadableSql("a comment may end at a carriage return, or not")
        end = found.end() if found else len(self._text)
        if "\\" in self._text[at:end]:
            raise UnreadableSql("a comment holds a backslash, which may stand for its end")
        return end

    def _end_of_block(self, at: int) -> int:
        if self._dialect is SqlDialect.POSTGRES:
            return self._end_of_nested(at)
        end = self._text.find("*/", at + 2)
        inside = self._text[at + 2 : end]
        if end < 0 or _COMMENT_TROUBLE.search(inside):
            raise UnreadableSql("a comment has no clear end")
        if inside.startswith(("!", "+", "M!")):
            raise UnreadableSql("MySQL runs what stands in such a comment")
        return end + 2

    def _end_of_nested(self, at: int) -> int:
        depth = 0
        for mark in re.compile(r"/\*|\*/").finditer(self._text, at):
            depth += 1 if mark[0] == "/*" else -1
            if not depth:
                return mark.end()
        raise UnreadableSql("a comment has no end")

    def _token(self) -> None:
        sign = self._text[self._at]
        if word := _WORD.match(self._text, self._at):
            self._word(word)
        elif number := _NUMBER.match(self._text, self._at):
            self._add("number", number[0], number.end())
        elif sign == "'":
            self._string(escapes=False)
        elif sign in '"`[':
            self._quoted(sign)
        elif sign == "$":
            self._dollars()
        elif sign == "\\":
            self._backslash()
        elif sign in _SIGNS:
            self._sign(sign)
        else:
            raise UnreadableSql(f"{sign!r} stands outside of quotes")

    def _add(self, kind: TokenKind, text: str, end: int) -> None:
        self._found.append(SqlToken(kind, text))
        self._at = end

    def _word(self, word: re.Match[str]) -> None:
        following = self._text[word.end() : word.end() + 1]
        postgres = self._dialect is SqlDialect.POSTGRES
        if word[0].lower() == "u" and following == "&" and postgres:
            raise UnreadableSql("`U&` writes letters as numbers")
        if word[0].lower() == "delimiter" and self._dialect is SqlDialect.MYSQL:
            raise UnreadableSql("the client may run `delimiter` itself")
        if following == "'" and word[0].lower() in _STRING_PREFIXES:
            self._at = word.end()
            self._string(escapes=postgres and word[0].lower() == "e")
        else:
            self._add("word", word[0], word.end())

    def _string(self, *, escapes: bool) -> None:
        form = _ESCAPED_STRING if escapes else _PLAIN_STRING
        if self._dialect is SqlDialect.SQLITE:
            form = _SQLITE_STRING
        found = form.match(self._text, self._at)
        if found is None:
            raise UnreadableSql("a text in quotes has no clear end")
        self._add("string", found[0], found.end())

    def _quoted(self, sign: str) -> None:
        forms = {'"': _IN_DOUBLE_QUOTES}
        if self._dialect is not SqlDialect.POSTGRES:
            forms["`"] = _IN_BACKTICKS
        if self._dialect is SqlDialect.SQLITE:
            forms["["] = _IN_BRACKETS
        if sign == "[" and sign not in forms:
            self._sign(sign)
            return
        found = forms[sign].match(self._text, self._at) if sign in forms else None
        if found is None or (not found[0].isascii() and sign == "`"):
            raise UnreadableSql("a name in quotes has no clear end")
        self._add("quoted", found[0][1:-1].replace(sign * 2, sign), found.end())

    def _dollars(self) -> None:
        opening = _DOLLARS.match(self._text, self._at)
        if opening is None or self._dialect is not SqlDialect.POSTGRES:
            raise UnreadableSql("`$` stands outside of quotes")
        end = self._text.find(opening[0], opening.end())
        if end < 0:
            raise UnreadableSql("a text in dollars has no end")
        self._add("string", self._text[self._at : end + len(opening[0])], end + len(opening[0]))

    def _backslash(self) -> None:
        if self._dialect is SqlDialect.MYSQL and self._text[self._at + 1 : self._at + 2] in (
            "g",
            "G",
        ):
            self._add("sign", ";", self._at + 2)
        else:
            raise UnreadableSql("a backslash may be a command of the client")

    def _sign(self, sign: str) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        if sign == ":" and self._dialect is SqlDialect.POSTGRES:
            if following in (":", "="):
                self._add("sign", sign + following, self._at + 2)
                return
            if not following.isspace() and not following.isdigit():
                raise UnreadableSql("`:` may put in a variable of the client")
        self._add("sign", sign, self._at + 1)
