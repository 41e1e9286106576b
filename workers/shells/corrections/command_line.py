"""Reads the words of a plain command line with their positions, so that one can be changed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_KEYWORDS = frozenset(
    [
        *("!", "{", "}", "[[", "if", "then", "elif", "else", "fi", "for", "while", "until"),
        *("do", "done", "case", "esac", "select", "function", "coproc"),
    ]
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_OPERATOR = re.compile(r"&&|\|\||\|&|[;|&\n]")
_REDIRECTION = re.compile(r"\d*(?:>>|>\||>&|<&|&>>|&>|<>|>|<(?!<))")
_QUOTED = re.compile(r"""\\.|"(?:\\.|[^"\\])*"|'[^']*'""", re.DOTALL)
_SUBSTITUTION = re.compile(r"`|\$\(")
_STRUCTURE = re.compile(r"[()]|<<|\$['\"]")

_WRAPPERS: dict[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-r", "-t", "-T", "-U"}),
    "env": frozenset({"-u", "-C"}),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n"}),
    "nohup": frozenset(),
    "command": frozenset(),
    "exec": frozenset(),
    "time": frozenset(),
}
"""Programs that run the program named after them, and their options that take a value."""


@dataclass(frozen=True, slots=True)
class PlacedWord:
    """A word as the shell would see it; `literal` is False if the shell would expand it."""

    text: str
    start: int
    end: int
    literal: bool


@dataclass(frozen=True, slots=True)
class PlacedCommand:
    """One simple command: its words from the first assignment on, and its redirection targets."""

    words: tuple[PlacedWord, ...]
    targets: tuple[PlacedWord, ...] = ()

    @property
    def program(self) -> PlacedWord | None:
        """The word that names the program, after assignments and wrappers such as sudo."""
        at = self._program_at()
        return self.words[at] if at < len(self.words) else None

    @property
    def name(self) -> str:
        """The program's name without its folder; empty if there is none."""
        program = self.program
        return program.text.rpartition("/")[2] if program else ""

    @property
    def arguments(self) -> tuple[PlacedWord, ...]:
        """The words after the program."""
        return self.words[self._program_at() + 1 :]

    def prefix(self, text: str) -> str:
        """The text before the program (`sudo -n `, `env A=b `), to put before another program."""
        program = self.program
        return text[self.words[0].start : program.start] if program else ""

    def wrapped_in(self, wrapper: str) -> PlacedWord | None:
        """The word of that wrapper; None if it does not wrap the program."""
        before = self.words[: self._program_at()]
        return next((word for word in before if word.text == wrapper), None)

    def _program_at(self) -> int:
        at = 0
        while at < len(self.words):
            word = self.words[at]
            if _ASSIGNMENT.match(word.text):
                at += 1
                continue
            takes_value = _WRAPPERS.get(word.text)
            if takes_value is None:
                break
            at += 1
            while at < len(self.words) and self.words[at].text.startswith("-"):
                at += 2 if self.words[at].text in takes_value else 1
        return at


def read(text: str) -> tuple[PlacedCommand, ...]:
    """The simple commands of a text, in order; empty if the text is more than plain commands.

    Corrections change only what this reader understands: quoting, lists, pipes and redirections.
    """
    if _is_beyond(text):
        return ()
    commands: list[PlacedCommand] = []
    words: list[PlacedWord] = []
    targets: list[PlacedWord] = []
    try:
        for kind, word in _tokens(text):
            if kind == "word":
                words.append(word)
            elif kind == "target":
                targets.append(word)
            elif words:
                commands.append(PlacedCommand(tuple(words), tuple(targets)))
                words, targets = [], []
    except ValueError:
        return ()
    if any(command.words[0].text in _KEYWORDS for command in commands):
        return ()
    return tuple(commands)


def insert(text: str, at: int, piece: str) -> str:
    """The text with a piece inserted at a position."""
    return f"{text[:at]}{piece}{text[at:]}"


def replace_word(text: str, word: PlacedWord, piece: str) -> str:
    """The text with a word replaced; `piece` must already be quoted."""
    return f"{text[: word.start]}{piece}{text[word.end :]}"


def _is_beyond(text: str) -> bool:
    """Whether the text has substitutions, here-documents, subshells or functions."""
    unexpanded = _QUOTED.sub(lambda found: found[0] if found[0][0] == '"' else "", text)
    bare = _QUOTED.sub("", text)
    return bool(_SUBSTITUTION.search(unexpanded) or _STRUCTURE.search(bare))


def _tokens(text: str) -> Iterator[tuple[str, PlacedWord]]:
    """Yield ("word" | "target" | "end", PlacedWord) over the text; an "end" comes last."""
    at = 0
    wants_target = False
    while at < len(text):
        char = text[at]
        if char in " \t\r" or text.startswith("\\\n", at):
            at += 2 if char == "\\" else 1
        elif char == "#":
            newline = text.find("\n", at)
            at = len(text) if newline < 0 else newline
        elif redirection := _REDIRECTION.match(text, at):
            at, wants_target = redirection.end(), True
        elif operator := _OPERATOR.match(text, at):
            yield "end", PlacedWord(operator[0], at, operator.end(), literal=True)
            at = operator.end()
        else:
            word = _word(text, at)
            yield ("target" if wants_target else "word"), word
            at, wants_target = word.end, False
    yield "end", PlacedWord("", at, at, literal=True)


def _word(text: str, start: int) -> PlacedWord:
    """The word that begins at `start`; raises ValueError if a quote is left open."""
    at, value, literal = start, [], True
    while at < len(text) and text[at] not in " \t\r\n;|&<>":
        char = text[at]
        if char == "'":
            end = text.index("'", at + 1)
            value.append(text[at + 1 : end])
        elif char == '"':
            end = _closing_quote(text, at)
            inner = text[at + 1 : end]
            literal = literal and "$" not in inner
            value.append(re.sub(r'\\([\\"$\n])', r"\1", inner))
        elif char == "\\":
            end = at + 1
            value.append(text[at + 1 : at + 2])
        else:
            end = at
            literal = literal and char not in "$*?[" and not (char == "~" and at == start)
            value.append(char)
        at = end + 1
    return PlacedWord("".join(value), start, min(at, len(text)), literal)


def _closing_quote(text: str, opening: int) -> int:
    found = re.compile(r'(?:\\.|[^"\\])*"', re.DOTALL).match(text, opening + 1)
    if found is None:
        raise ValueError("an open quote")
    return found.end() - 1
