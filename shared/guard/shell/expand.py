"""From words as written to words as programs receive them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from shared.guard.secret_words import unknown_like
from shared.guard.shell.arithmetic import Evaluated, evaluates_safely, names_safely
from shared.guard.shell.braces import expand_braces
from shared.guard.shell.parse import Dialect
from shared.guard.shell.scope import Scope
from shared.guard.shell.tree import (
    OPAQUE,
    Arithmetic,
    Literal,
    Opaque,
    Parameter,
    Part,
    Substitution,
    WordNode,
    as_quoted,
)
from shared.guard.words import Glob, Hole, Piece, Text, Word, number_word

_TILDE = re.compile(r"~([A-Za-z0-9_.+-]*)(?=([/:]|$))")
_LATER_TILDE = re.compile("=~")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")


class Substitute(Protocol):
    """Runs the commands in `$(…)` and returns what they print."""

    def __call__(self, substitution: Substitution, scope: Scope) -> Hole | Word:
        """Its output without the last newlines, or a hole that knows its makers."""


class Doubting(Protocol):
    """Records what cannot be decided."""

    def __call__(self, rule: str, reason: str) -> None:
        """`rule` names its kind."""


@dataclass(frozen=True, slots=True)
class _Break:
    """The end of one word and the start of the next."""


_BREAK = _Break()
_Item = Piece | _Break


@dataclass(slots=True)
class Expansion:
    """Expands words in one scope, which the words may change (`${x:=y}`)."""

    scope: Scope
    dialect: Dialect
    substitute: Substitute
    doubt: Doubting

    def words(self, nodes: tuple[WordNode, ...]) -> list[Word]:
        """The words that a command receives; raises TooManyWords."""
        found: list[Word] = []
        for node in nodes:
            for braced in expand_braces(node) if self.dialect is Dialect.BASH else (node,):
                whole = braced is node
                parts = self._with_home(braced.parts, assigned=False, as_argument=True, whole=whole)
                items = [item for part in parts for item in self._items(part)]
                found += [word.with_globs() for word in _fields(items)]
        return found

    def value(self, node: WordNode) -> Word:
        """The one word that an assignment or a heredoc receives: neither split nor matched."""
        pieces: list[Piece] = []
        for part in self._with_home(node.parts, assigned=True, as_argument=False):
            whole = as_quoted(part) if isinstance(part, Parameter | Substitution | Opaque) else part
            for item in self._items(whole):
                match item:
                    case _Break():
                        pieces.append(Text(" ", quoted=False))
                    case _:
                        pieces.append(item)
        return Word(tuple(pieces) or (Text(""),))

    def _with_home(
        self, parts: tuple[Part, ...], *, assigned: bool, as_argument: bool, whole: bool = True
    ) -> Iterator[Part | Piece]:
        """The parts with `~` as the home directory; bash looks into `NAME=~` arguments, too.

        `whole` is False for a word that had braces: whether they stood for anything decides there.
        """
        bash = self.dialect is Dialect.BASH
        opening = parts[0].text if parts and isinstance(parts[0], Literal) else ""
        name = _ASSIGNED.match(opening) if as_argument and bash else None
        signs = ":" if assigned or name else ""
        for index, part in enumerate(parts):
            if isinstance(part, Literal) and not part.quoted and "~" in part.text:
                starts = {place + 1 for place, sign in enumerate(part.text) if sign in signs}
                if index == 0:
                    starts |= {0, name.end()} if name else {0}
                ends = "/:" if assigned or bash else "/"
                later = name and _LATER_TILDE.search(part.text, name.end() if index == 0 else 0)
                if later or (name and not whole):
                    yield Hole()  # bash sometimes looks behind a later `=` as well
                    continue
                yield from self._tildes(part.text, starts, ends, last=index == len(parts) - 1)
            else:
                yield part

    def _tildes(
        self, text: str, starts: set[int], ends: str, *, last: bool
    ) -> Iterator[Part | Piece]:
        position = 0
        for match in _TILDE.finditer(text):
            # a tilde stands for itself when any of its name is quoted
            ended = match[2] in ends if match[2] else last
            if match.start() not in starts or not ended:
                continue
            if match.start() > position:
                yield Literal(text[position : match.start()], quoted=False)
            yield self._home(match[1])
            position = match.end()
        if position < len(text):
            yield Literal(text[position:], quoted=False)

    def _home(self, user: str) -> Piece:
        if user:
            return Hole()
        pieces = self.scope.value("HOME").pieces
        return pieces[0] if len(pieces) == 1 else Hole()

    def _items(self, part: Part | Piece) -> Iterator[_Item]:
        match part:
            case Text() | Glob() | Hole():
                yield part
            case Literal(text, quoted):
                yield Text(text, quoted)
            case Parameter():
                yield from self._parameter(part)
            case Opaque(quoted, inner, number, arithmetic):
                self.expand(inner)
                self.evaluate(arithmetic)
                yield Hole(split=not quoted and not number, below=number, number=number)
            case Substitution(_, quoted):
                yield from self._output(self.substitute(part, self.scope), quoted=quoted)

    def expand(self, inner: tuple[Part, ...]) -> None:
        """Expand parts whose values do not matter, for what runs meanwhile."""
        for part in inner:
            self.value(WordNode((part,)))

    def evaluate(self, arithmetic: Arithmetic | None) -> None:
        """Evaluate arithmetic: bash runs what stands in a subscript, in values of variables too."""
        for step in arithmetic.steps if arithmetic else ():
            if isinstance(step, str):
                self.scope = self.scope.assign(step, number_word())
            else:
                self.hold(evaluates_safely(self.value(step), self._evaluated))

    def name(self, node: WordNode) -> Word:
        """The name of a variable, as `[[ -v NAME ]]` takes it."""
        word = self.value(node)
        self.hold(names_safely(word, self._evaluated))
        return word

    def hold(self, why: str | None) -> None:
        """Record why a text may run a command when it is evaluated; None when it cannot."""
        if why:
            self.doubt("arithmetic-code", why)

    @property
    def _evaluated(self) -> Evaluated:
        return Evaluated(self.scope, bash=self.dialect is Dialect.BASH)

    @staticmethod
    def _output(out: Hole | Word, *, quoted: bool) -> Iterator[_Item]:
        if isinstance(out, Hole):
            yield replace(out, split=not quoted and out.content is None)
        else:
            yield from _insert(out, quoted=quoted)

    def _parameter(self, part: Parameter) -> Iterator[_Item]:
        self.expand(part.inner)
        self.evaluate(part.arithmetic)
        if part.name in ("@", "*") and not part.operator:
            yield from self._arguments(part)
            return
        value = self.scope.value(part.name)
        if part.argument is not None:
            value = self._or_argument(part.name, part.operator, value, part.argument)
        elif part.operator == OPAQUE:
            self._use(part, value)
            value = _unknown_part(value, number=part.use == "length")
        yield from _insert(value, quoted=part.quoted)

    def _use(self, part: Parameter, value: Word) -> None:
        if part.use == "name":
            self.hold(names_safely(value, self._evaluated))
        if part.use == "prompt" and (value.literal is None or set(value.literal) & set("$`\\")):
            told = f"${{{part.name}@P}} runs the commands that its value names"
            self.doubt("prompt-code", told)

    def _or_argument(self, name: str, operator: str, value: Word, node: WordNode) -> Word:
        argument = self.value(node)
        if operator == "?":
            return value
        if not value.literal:  # unknown, or empty, where the colon decides
            if operator == "=":
                self.scope = self.scope.assign(name, unknown_like(value, argument))
            holes = _unknown_part(value), _unknown_part(argument)
            secrets = (p.secret for w in holes for p in w.pieces if isinstance(p, Hole))
            secret = next(filter(None, secrets), "")
            return Word((Hole(makers=(*value.makers, *argument.makers), secret=secret),))
        return argument if operator == "+" else value

    def _arguments(self, part: Parameter) -> Iterator[_Item]:
        arguments = self.scope.arguments
        if arguments is None:
            yield Hole(split=True)
            return
        if not arguments and part.quoted and part.name == "*":
            yield Text("")
        for index, argument in enumerate(arguments):
            if index:
                yield Text(" ") if part.quoted and part.name == "*" else _BREAK
            yield from _insert(argument, quoted=part.quoted)


def _unknown_part(value: Word, *, number: bool = False) -> Word:
    """A value of which a part is taken or changed: unknown, but as secret as it was."""
    holes = (piece.secret for piece in value.pieces if isinstance(piece, Hole))
    return Word((Hole(secret=next(filter(None, holes), ""), below=number, number=number),))


def _insert(value: Word, *, quoted: bool) -> Iterator[_Item]:
    """A value where it is used: split into words unless it stands in quotes."""
    for piece in value.pieces:
        match piece:
            case Text(text) if quoted:
                yield Text(text)
            case Text(text):
                yield from _split(text)
            case Glob():
                yield piece
            case Hole():
                yield replace(piece, split=not quoted and not piece.below)


def _split(text: str) -> Iterator[_Item]:
    position = 0
    for match in re.finditer(r"[ \t\n]+", text):
        if match.start() > position:
            yield Text(text[position : match.start()], quoted=False)
        yield _BREAK
        position = match.end()
    if position < len(text):
        yield Text(text[position:], quoted=False)


def _fields(items: list[_Item]) -> list[Word]:
    fields: list[Word] = []
    pieces: list[Piece] = []
    for item in items:
        if not isinstance(item, _Break):
            pieces.append(item)
        elif pieces:
            fields.append(Word(tuple(pieces)))
            pieces = []
    if pieces:
        fields.append(Word(tuple(pieces)))
    return fields
