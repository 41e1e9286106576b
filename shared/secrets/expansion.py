"""From `${secret:NAME}` to a variable that the shell expands: no command contains a value."""

import re
from enum import Enum

from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.secret import VARIABLE, BadName, begins_at, name_at, reference
from shared.secrets.heredocs import Heredoc, heredoc_at

STAGE = "secrets"


class Inside(Enum):
    """What the text at a position is inside of."""

    COMMAND = "a command"
    DOUBLE = "double quotes"
    BRACES = "${…}"
    ARITHMETIC = "$((…))"


def variable(name: str) -> str:
    """The name of the environment variable that holds a secret."""
    return VARIABLE + name


def to_environment(text: str) -> tuple[str, tuple[str, ...]]:
    """The command with a variable for each secret, and the names that it needs, each once.

    A bare `${secret:NAME}` becomes `"${REPLAN_SECRET_NAME}"`, one word whatever the value holds;
    between double quotes and in a here-document it becomes the bare variable. Raises Rejected, at
    stage `secrets`, where a shell would not expand it or would read the value as code: between
    single quotes, in a here-document with a quoted mark, after a backslash, in `${…}`, `$((…))` or
    backquotes; and for a bad name.
    """
    if "secret" not in text.lower():
        return text, ()
    reading = _Reading(text)
    try:
        reading.read()
    except BadName as error:
        raise _reject(str(error)) from None
    return "".join(reading.out), tuple(reading.names)


class _Reading:
    """One pass over a text that tracks what each position is inside of."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._inside = [Inside.COMMAND]
        self._parentheses = [0]
        self._heredocs: list[Heredoc] = []
        self.out: list[str] = []
        self.names: dict[str, None] = {}

    def read(self) -> None:
        while self._at < len(self._text):
            self._step()

    def _step(self) -> None:
        text, at = self._text, self._at
        character = text[at]
        inside = self._inside[-1]
        if begins_at(text, at):
            self._put_secret(inside)
        elif character == "\\":
            self._skip_escape()
        elif character == "$":
            self._dollar()
        elif character == "`":
            self._refused_until("`", "backquotes", "write $(…) instead of backquotes")
        elif character == '"' and inside is not Inside.ARITHMETIC:
            self._quote()
        elif inside is Inside.DOUBLE:
            self._copy(1)
        elif character == "'" and inside is not Inside.ARITHMETIC:
            self._refused_until("'", "single quotes", _UNQUOTED)
        elif inside is Inside.COMMAND:
            self._of_command(character)
        else:
            self._closing(character)

    def _put_secret(self, inside: Inside) -> None:
        name, end = name_at(self._text, self._at)
        if inside in {Inside.BRACES, Inside.ARITHMETIC}:
            raise _reject(
                f"{reference(name)} stands in {inside.value}, where its value could be read as "
                "code; give it to a variable of its own first"
            )
        self.names[name] = None
        held = f"${{{variable(name)}}}"
        self.out.append(held if inside is Inside.DOUBLE else f'"{held}"')
        self._at = end

    def _skip_escape(self) -> None:
        if begins_at(self._text, self._at + 1):
            name, _ = name_at(self._text, self._at + 1)
            raise _reject(
                f"the backslash before {reference(name)} keeps the shell from expanding it; leave "
                "the backslash out"
            )
        self._copy(2)

    def _dollar(self) -> None:
        following = self._text[self._at + 1 : self._at + 3]
        inside = self._inside[-1]
        if following == "((":
            self._enter(Inside.ARITHMETIC, 3)
            self._parentheses[-1] = 2
        elif following.startswith("("):
            self._enter(Inside.COMMAND, 2)
            self._parentheses[-1] = 1
        elif following.startswith("{"):
            self._enter(Inside.BRACES, 2)
        elif following.startswith("'") and inside is Inside.COMMAND:
            self._copy(1)
            self._refused_until("'", "$'…'", _UNQUOTED, escapes=True)
        elif following.startswith("$"):
            self._copy(2)
        else:
            self._copy(1)

    def _of_command(self, character: str) -> None:
        if character == "#" and _begins_word(self._text, self._at):
            end = self._text.find("\n", self._at)
            self._copy((end if end >= 0 else len(self._text)) - self._at)
        elif character == "<" and (found := heredoc_at(self._text, self._at)) is not None:
            self._heredocs.append(found)
            self._copy(found.end - self._at)
        elif character == "\n":
            self._copy(1)
            self._bodies()
        else:
            self._closing(character)

    def _closing(self, character: str) -> None:
        """Count parentheses, and leave whatever ends here."""
        inside = self._inside[-1]
        if character == "(":
            self._parentheses[-1] += 1
        elif character == ")":
            self._parentheses[-1] -= 1
        self._copy(1)
        nested = len(self._inside) > 1
        ended = (character == "}") if inside is Inside.BRACES else (
            character == ")" and self._parentheses[-1] <= 0
        )  # fmt: skip
        if nested and ended:
            self._leave()

    def _bodies(self) -> None:
        """The here-documents that begin on the next line."""
        for heredoc in self._heredocs:
            end = heredoc.body_end(self._text, self._at)
            body = self._text[self._at : end]
            if heredoc.quoted:
                _refuse_in(
                    body,
                    "a here-document with a quoted mark",
                    f"write <<{heredoc.mark} without quotes, and \\$ for what is to stay",
                )
                self.out.append(body)
            else:
                self._expand(body)
            self._at = end
        self._heredocs.clear()

    def _expand(self, body: str) -> None:
        """A here-document expands like double quotes, but keeps quotes."""
        inner = _Reading(body.replace('"', _QUOTE))
        inner._inside = [Inside.DOUBLE]
        inner.read()
        self.out.append("".join(inner.out).replace(_QUOTE, '"'))
        self.names |= inner.names

    def _quote(self) -> None:
        if self._inside[-1] is Inside.DOUBLE and len(self._inside) > 1:
            self._copy(1)
            self._leave()
        else:
            self._enter(Inside.DOUBLE, 1)

    def _refused_until(self, mark: str, place: str, instead: str, *, escapes: bool = False) -> None:
        """Copy quoted text; refuse it if it contains a secret."""
        pattern = _ANSI if escapes else _TO[mark]
        found = pattern.match(self._text, self._at + 1)
        end = found.end() if found else len(self._text)
        _refuse_in(self._text[self._at : end], place, instead)
        self._copy(end - self._at)

    def _enter(self, inside: Inside, length: int) -> None:
        self._copy(length)
        self._inside.append(inside)
        self._parentheses.append(0)

    def _leave(self) -> None:
        self._inside.pop()
        self._parentheses.pop()

    def _copy(self, length: int) -> None:
        self.out.append(self._text[self._at : self._at + length])
        self._at += length


_QUOTE = "\0"
"""Replaces a double quote in a here-document, where it is an ordinary character; no command
contains NUL."""

_TO = {"'": re.compile(r"[^']*'"), "`": re.compile(r"(?:[^`\\]|\\.)*`", re.DOTALL)}
_ANSI = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)
_UNQUOTED = (
    "write it outside the quotes, or use double quotes; to an inner shell give it as an argument: "
    "sh -c '… \"$1\" …' sh ${secret:NAME}"
)
_WORD_BREAK = frozenset(" \t\n;&|()")


def _begins_word(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in _WORD_BREAK


def _refuse_in(text: str, place: str, instead: str) -> None:
    for at in (found.start() for found in re.finditer(r"\$", text)):
        if begins_at(text, at):
            name, _ = name_at(text, at)
            raise _reject(
                f"{reference(name)} stands in {place}, where no shell expands it as one word; "
                f"{instead}"
            )


def _reject(reason: str) -> Rejected:
    return Rejected(reason, stage=STAGE, next_step=NextStep.of("secret list"))
