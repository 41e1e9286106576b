"""How a text may end, whatever the host is like: with exit code 0, with another, or either.

It follows the text without running anything, and takes what it does not know for something that
may fail. So a text that can only end well here can only end well on a host.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shared.guard.shell.constants import constant_test, outcome_of_words, without_wrapper
from shared.guard.shell.tree import (
    AndOr,
    Apart,
    Block,
    Case,
    Evaluation,
    Function,
    Group,
    If,
    Literal,
    Loop,
    Parameter,
    Pipeline,
    Redirect,
    Simple,
    Statement,
    Substitution,
    WordNode,
)

Parse = Callable[[str], Block]
"""Reads a text in the dialect at hand; raises Unreadable."""


class Ending(NamedTuple):
    """One way in which a piece of a text may end: well or not, and with it the whole shell."""

    ok: bool
    exits: bool = False


Endings = frozenset[Ending]

_OK: Endings = frozenset({Ending(ok=True)})
_FAILS: Endings = frozenset({Ending(ok=False)})
_EITHER = _OK | _FAILS
_NO_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
SHELLS = frozenset({"sh", "bash", "dash", "ash", "eval"})
"""Programs that take a text as their program."""

_MOST_NESTING = 8


@dataclass(slots=True)
class _Options:
    """What `set` has switched on so far."""

    errexit: bool = False
    pipefail: bool = False


class Followed:
    """One text, followed to each of its ends."""

    def __init__(self, parse: Parse) -> None:
        self._parse = parse
        self._options = _Options()
        self._functions: set[str] = set()
        self._nesting = 0

    def text(self, text: str) -> Endings:
        """The endings of a whole text; raises Unreadable."""
        return _inside(self._block(self._parse(text), _OK))

    def words(self, words: Sequence[str]) -> Endings:
        """The endings of one command whose words are known; raises Unreadable."""
        return _inside(self._words(words[0].rpartition("/")[2], list(words[1:]), {True}))

    def _block(self, block: Block, before: Endings) -> Endings:
        found: set[Ending] = set()
        going = {ending.ok for ending in before}
        for statement in block:
            after = self._statement(statement, going)
            after = self._with_errexit(statement, after)
            found.update(ending for ending in after if ending.exits)
            going = {ending.ok for ending in after if not ending.exits}
            if not going:
                break
        return frozenset(found | {Ending(ok) for ok in going})

    def _with_errexit(self, statement: Statement, after: Endings) -> Endings:
        """Under `set -e`, a command that fails ends the shell."""
        if not self._options.errexit or statement.negated or statement.background:
            return after
        if Ending(ok=False) not in after:
            return after
        ended = after | {Ending(ok=False, exits=True)}
        # the left side of && and || does not end the shell
        return ended if isinstance(statement.command, AndOr) else ended - _FAILS

    def _statement(self, statement: Statement, before: set[bool]) -> Endings:
        if statement.background:
            return _OK
        found = self._command(statement, before)
        if any(map(_may_fail, statement.redirects)):
            found |= _FAILS
        if statement.negated:
            found = frozenset(e if e.exits else Ending(not e.ok) for e in found)
        return found

    def _command(self, statement: Statement, before: set[bool]) -> Endings:  # noqa: C901 - one case a form
        match statement.command:
            case Simple() as simple:
                return self._simple(simple, before)
            case Pipeline(stages):
                return self._pipeline(stages, before)
            case AndOr(operator, left, right):
                return self._and_or(operator, left, right, before)
            case Group(body, apart):
                found = self._block(body, _of(before))
                return _inside(found) if apart else found
            case If(condition, then, otherwise):
                return self._if(condition, then, otherwise, before)
            case Loop(_, body, name) if name:
                return self._each_time(body)
            case Loop():
                return _EITHER  # it may not end
            case Case(_, arms):
                return _OK.union(*(self._block(arm, _OK) for arm in arms))
            case Function(name):
                self._functions.add(name)
                return _OK
            case Evaluation():
                return _of_known(constant_test(_evaluated(statement.source)))
            case Apart() | None:
                return _OK
            case _:
                return _EITHER

    def _each_time(self, body: Block) -> Endings:
        """A body that runs once for each of several words, each time under what it has set."""
        before = replace(self._options)
        found = self._block(body, _OK) | _OK
        return found if self._options == before else found | self._block(body, _OK)

    def _pipeline(self, stages: tuple[Statement, ...], before: set[bool]) -> Endings:
        each = [_inside(self._statement(stage, before)) for stage in stages]
        found = each[-1]
        if self._options.pipefail and any(Ending(ok=False) in endings for endings in each):
            found |= _FAILS
        return found

    def _and_or(
        self, operator: str, left: Statement, right: Statement, before: set[bool]
    ) -> Endings:
        first = self._statement(left, before)
        goes_on = operator == "&&"
        found = frozenset(e for e in first if e.exits or e.ok is not goes_on)
        if Ending(goes_on) in first:
            found |= self._statement(right, {goes_on})
        return found

    def _if(self, condition: Block, then: Block, otherwise: Block, before: set[bool]) -> Endings:
        asked = self._block(condition, _of(before))
        found = frozenset(ending for ending in asked if ending.exits)
        if Ending(ok=True) in asked:
            found |= self._block(then, _OK)
        if Ending(ok=False) in asked:
            found |= self._block(otherwise, _FAILS) if otherwise else _OK
        return found

    def _simple(self, simple: Simple, before: set[bool]) -> Endings:
        if not simple.words:
            return self._assigned(simple, before)
        words = [_literal(word, before) for word in simple.words]
        name = words[0]
        if name is None or name in self._functions:
            return _EITHER
        return self._words(name.rpartition("/")[2], words[1:], before)

    def _assigned(self, simple: Simple, before: set[bool]) -> Endings:
        """An assignment alone ends as the last substitution in it does."""
        for assignment in reversed(simple.assignments):
            for part in reversed(assignment.value.parts):
                if isinstance(part, Substitution):
                    return _inside(self._block(part.body, _of(before)))
                if not isinstance(part, Literal | Parameter):
                    return _EITHER
        return _OK

    def _words(self, name: str, words: list[str | None], before: set[bool]) -> Endings:
        if name in {"exit", "return"}:
            return self._exit(words, before)
        if name == "set":
            self._set(words)
            return _OK
        if name in SHELLS:
            return self._code(name, words)
        wrapped = without_wrapper(name, words)
        if wrapped is not None:
            inner = self._words(wrapped[0].rpartition("/")[2], wrapped[1], before)
            return frozenset(Ending(e.ok, True) for e in inner) if name == "exec" else inner
        return _of_known(outcome_of_words(name, words))

    def _exit(self, words: list[str | None], before: set[bool]) -> Endings:
        if not words:
            oks: Iterable[bool] = before
        elif words[0] is None:
            oks = (True, False)
        else:
            oks = (words[0].strip("0") == "",)
        return frozenset(Ending(ok, exits=True) for ok in oks)

    def _set(self, words: list[str | None]) -> None:
        for word in words:
            if word is None or not word.startswith(("-", "+")):
                self._options.pipefail |= word == "pipefail"
                self._options.errexit |= word == "errexit"
            elif "e" in word:
                self._options.errexit = word.startswith("-")

    def _code(self, name: str, words: list[str | None]) -> Endings:
        """A text for a shell: `sh -c TEXT`, `eval TEXT`."""
        text: str | None
        if name == "eval":
            text = None if None in words else " ".join(filter(None, words))
        else:
            text = words[1] if len(words) > 1 and words[0] == "-c" else None
        if text is None or self._nesting >= _MOST_NESTING:
            return _EITHER
        self._nesting += 1
        try:
            found = self._block(self._parse(text), _OK)
        finally:
            self._nesting -= 1
        return found if name == "eval" else _inside(found)


def _inside(endings: Endings) -> Endings:
    """As the shell outside sees it: an `exit` ends the inner one alone."""
    return frozenset(Ending(ending.ok) for ending in endings)


def _of(oks: Iterable[bool]) -> Endings:
    return frozenset(Ending(ok) for ok in oks)


def _of_known(ok: bool | None) -> Endings:
    return _EITHER if ok is None else _of((ok,))


def _may_fail(redirect: Redirect) -> bool:
    """Whether the file that it opens may not be there, or not open."""
    if redirect.body is not None:
        return False
    target = _literal(redirect.target, set())
    if target is None:
        return True
    return target not in _NO_FILES and target.strip("0123456789-") != ""


def _literal(word: WordNode, before: set[bool]) -> str | None:
    """The text of a word; None when any of it is known only on the host."""
    texts = []
    for part in word.parts:
        match part:
            case Literal(text):
                texts.append(text)
            case Parameter("?", operator="") if before == {True}:
                texts.append("0")
            case _:
                return None
    return "".join(texts)


def _evaluated(source: str) -> list[str | None]:
    """The words of `[[ … ]]`, None for what is known only on the host."""
    inner = source.strip()
    if not inner.startswith("[[") or not inner.endswith("]]") or set("$`\\\"'*?") & set(inner):
        return [None]
    return list(inner.removeprefix("[[").removesuffix("]]").split())
