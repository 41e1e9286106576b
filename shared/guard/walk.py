"""Follows a command text as a shell would, without running anything."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from shared.guard.arithmetic import runs_in_arithmetic
from shared.guard.braces import TooManyWords
from shared.guard.convert import Unreadable
from shared.guard.execute import execute
from shared.guard.expand import Expansion
from shared.guard.files import File, Files
from shared.guard.flow import Input, Outcome, silent, sources, unchanged
from shared.guard.parse import BadSyntax, Dialect, Shfmt, dialects
from shared.guard.paths import NOWHERE
from shared.guard.reading import FORK_BOMB, Doubt, Reading
from shared.guard.scope import Scope, merged
from shared.guard.tree import (
    AndOr,
    Apart,
    Block,
    Case,
    Evaluation,
    Function,
    Group,
    If,
    Loop,
    Pipeline,
    Redirect,
    Simple,
    Statement,
    Substitution,
    WordNode,
)
from shared.guard.variables import assign
from shared.guard.words import Glob, Hole, Run, Text, Word, joined, known, unknown

MOST_RUNS = 4000
MOST_STEPS = 20_000
MOST_PARSES = 40
MOST_NESTING = 12
MOST_ITEMS = 32
_MOST_CALLS = 3
_PART = 200
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_UNKNOWN_TEXT = "${__unknown}"


class TooMuch(Exception):
    """The text is too large, or nested too deeply, to be followed to its end."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """A function that is being run, and how often there was a choice or a new process then."""

    name: str
    choices: int
    spawned: int


class Walk:
    """One walk over one text; `reading` holds what was found."""

    def __init__(self, shfmt: Shfmt) -> None:
        self.reading = Reading()
        self.files = Files()
        self.dialect = Dialect.POSIX
        self.aliases: set[str] = set()
        self.fixed: set[str] = set()
        self.local: set[str] = set()
        self.traps: list[Word] = []
        self._part = ""
        self._sure = True
        self._shfmt = shfmt
        self._parses = 0
        self._steps = 0
        self._nesting = 0
        self._choices = 0
        self._spawned = 0
        self._frames: list[_Frame] = []
        self._uncalled: dict[str, tuple[Function, Scope]] = {}

    # what is found

    def doubt(self, rule: str, reason: str) -> None:
        """Something cannot be decided."""
        self.reading.doubts.append(Doubt(rule, reason, self._part))

    def found(
        self,
        argv: tuple[Word, ...],
        program: str,
        scope: Scope,
        *,
        writes: tuple[Word, ...] = (),
        feeders: tuple[Run, ...] = (),
    ) -> Run:
        """A program runs; raises TooMuch past the limit."""
        if len(self.reading.runs) >= MOST_RUNS:
            raise TooMuch(f"it runs more than {MOST_RUNS} commands")
        run = Run(argv, program, scope.directories, writes, feeders, self._part, self._sure)
        self.reading.runs.append(run)
        return run

    @contextmanager
    def guessing(self) -> Iterator[None]:
        """What is found meanwhile is only one way to read the text."""
        before, self._sure = self._sure, False
        try:
            yield
        finally:
            self._sure = before

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level of commands inside commands; raises TooMuch past the limit."""
        self._nesting += 1
        if self._nesting > MOST_NESTING:
            raise TooMuch(f"it has commands inside commands, more than {MOST_NESTING} deep")
        try:
            yield
        finally:
            self._nesting -= 1

    # texts

    def plain(self, words: list[str], text: str) -> None:
        """Follow one command whose words are certain."""
        self._part = text.strip()[:_PART]
        self.execute(tuple(map(known, words)), Scope(), Input())

    def text(self, text: str, interpreter: str, scope: Scope, given: Input) -> Outcome:
        """Follow a text as `interpreter` would read it."""
        outcome = None
        try:
            waiting = list(dialects(interpreter, text))
        except Unreadable as error:
            self.doubt("other-language", str(error))
            return unchanged(scope)
        while waiting:
            dialect = waiting.pop(0)
            try:
                followed = self._in_dialect(text, dialect, scope, given)
            except BadSyntax as error:
                self.doubt("unreadable", str(error))
                if dialect is Dialect.POSIX and interpreter != "dash" and not waiting:
                    waiting = [Dialect.BASH]  # the worst it can be where `sh` is bash
            except (Unreadable, TooManyWords) as error:
                self.doubt("too-large", str(error))
            else:
                outcome = outcome or followed
        return outcome or unchanged(scope)

    def _in_dialect(self, text: str, dialect: Dialect, scope: Scope, given: Input) -> Outcome:
        self._parses += 1
        if self._parses > MOST_PARSES:
            raise TooMuch(f"it has more than {MOST_PARSES} texts inside texts")
        block = self._shfmt.parse(text, dialect)
        before, self.dialect = self.dialect, dialect
        try:
            with self.deeper():
                outcome = self.block(block, scope, given)
                self._run_traps(scope, outcome)
                return outcome
        finally:
            self.dialect = before

    def _run_traps(self, scope: Scope, outcome: Outcome) -> None:
        """Traps run at the end too, when variables may have other values."""
        traps, self.traps = self.traps, []
        for text in traps:
            self.here(text, merged(scope, outcome.either), Input())
        self.traps = []

    def code(self, word: Word, interpreter: str, scope: Scope, given: Input) -> Outcome:
        """Follow a word that is a command text, as far as it is known."""
        text = word.literal
        if text is None:
            self.doubt("unknown-code", f"the text that {interpreter} runs is not known: {word}")
            text = _with_placeholders(word)
        if not text.strip():
            return silent(scope)
        return self.text(text, interpreter, scope, given)

    def here(self, word: Word, scope: Scope, given: Input) -> Outcome:
        """Follow a word that the running shell itself reads, as `eval` does."""
        interpreter = "bash" if self.dialect is Dialect.BASH else "dash"
        return self.code(word, interpreter, scope, given)

    def finish(self) -> None:
        """Follow functions that may still be called, in a way that is not seen."""
        while self._uncalled:
            name, (function, scope) = self._uncalled.popitem()
            self.call(name, (function,), replace(scope, arguments=None), Input())
        if late := self.files.run_before_written():
            self.doubt("written-script", f"it runs files and writes them: {', '.join(late)}")

    # statements

    def block(self, block: Block, scope: Scope, given: Input) -> Outcome:
        """Statements, one after the other."""
        outcome = silent(scope)
        outputs: list[Word] | None = []
        for statement in block:
            outcome = self.statement(statement, outcome.either, given)
            if outputs is not None and outcome.output is not None:
                outputs.append(outcome.output)
            else:
                outputs = None
        output = None if outputs is None else joined(outputs, "")
        return replace(outcome, output=output)

    def statement(self, statement: Statement, scope: Scope, given: Input) -> Outcome:
        """One statement with its redirections."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise TooMuch(f"it may take more than {MOST_STEPS} steps")
        part_before = self._part
        self._part = statement.source[:_PART] or self._part
        try:
            if statement.background:
                self._spawned += 1
            outcome = self._redirected(statement, scope, given)
        finally:
            self._part = part_before
        if statement.negated:
            outcome = replace(outcome, succeeded=outcome.failed, failed=outcome.succeeded)
        return outcome.within(scope) if statement.background else outcome

    def _redirected(self, statement: Statement, scope: Scope, given: Input) -> Outcome:
        expansion = Expansion(scope, self.dialect, self.substitute)
        outputs: list[tuple[Word, bool]] = []
        for redirect in statement.redirects:
            target = expansion.value(redirect.target).with_globs()
            given = self._input(redirect, target, expansion, given)
            if redirect.operator in _WRITES and not _names_descriptor(redirect, target):
                self._opened_for_writing(target, expansion.scope)
                if redirect.descriptor in ("", "1") and redirect.operator != "<>":
                    outputs.append((target, redirect.operator.endswith(">>")))
        first = len(self.reading.runs)
        outcome = self._command(statement, expansion.scope, given)
        if not outputs:
            return outcome
        makers = sources(self.reading.runs[first:])
        content = outcome.output or unknown(makers=makers)
        for path, append in outputs:
            self.files.write(path, scope.directories[0], File(content), append=append)
        return replace(outcome, output=known(""))

    def _input(
        self, redirect: Redirect, target: Word, expansion: Expansion, given: Input
    ) -> Input:
        if redirect.body is not None:
            text = expansion.value(redirect.body)
            if redirect.operator == "<<<":
                text = Word((*text.pieces, Text("\n")))
            return Input(text=text) if redirect.descriptor in ("", "0") else given
        if target.prefix.startswith(("/dev/tcp/", "/dev/udp/")):
            self.doubt("network-redirect", f"it opens a network connection: {target}")
        if redirect.operator in ("<", "<>") and redirect.descriptor in ("", "0"):
            return Input(file=target, makers=target.makers)
        if redirect.operator == "<&":
            return Input(piped=True)
        return given

    def _opened_for_writing(self, target: Word, scope: Scope) -> None:
        self.found((), "", scope, writes=(target,))

    def _command(self, statement: Statement, scope: Scope, given: Input) -> Outcome:
        match statement.command:
            case None:
                return unchanged(scope)  # `$(< file)` puts out the file
            case Simple() as simple:
                return self._simple(simple, scope, given)
            case Pipeline(stages):
                return self._pipeline(stages, scope, given)
            case AndOr() as both:
                return self._and_or(both, scope, given)
            case Group(body, apart):
                outcome = self.block(body, scope, given)
                return outcome.within(scope) if apart else outcome
            case If() as choice:
                return self._if(choice, scope, given)
            case Loop() as loop:
                return self._loop(loop, scope, given)
            case Case(words, arms):
                return self._case(words, arms, scope, given)
            case Function() as function:
                self._uncalled[function.name] = (function, scope.define(function))
                return silent(scope.define(function))
            case Evaluation(inner, texts):
                self._evaluate(inner, texts, scope)
                return silent(scope)
            case Apart(inside):
                return self.statement(inside, scope, Input(piped=True)).within(scope)

    def _simple(self, simple: Simple, scope: Scope, given: Input) -> Outcome:
        expansion = Expansion(scope, self.dialect, self.substitute)
        values = []
        for assignment in simple.assignments:
            value = expansion.value(assignment.value)
            values.append((assignment.name, value if assignment.plain else unknown()))
        words = expansion.words(simple.words)
        scope = expansion.scope
        if not words:
            for name, value in values:
                scope = assign(self, scope, name, value)
            return silent(scope)
        inside = scope
        for name, value in values:
            inside = assign(self, inside, name, value).export(name)
        if simple.words and any(isinstance(p, Substitution) for p in simple.words[0].parts):
            self.doubt("computed-command", f"the name of the command is computed: {words[0]}")
        outcome = self.execute(tuple(words), inside, given)
        # shells differ in whether the variables keep these values
        names = frozenset(name for name, _ in values)
        return outcome.forgetting(names) if names else outcome

    def execute(
        self, words: tuple[Word, ...], scope: Scope, given: Input, *, functions: bool = True
    ) -> Outcome:
        """Follow a command whose words are known."""
        return execute(self, words, scope, given, functions=functions)

    def _pipeline(self, stages: tuple[Statement, ...], scope: Scope, given: Input) -> Outcome:
        self._spawned += 1
        first = len(self.reading.runs)
        outcome = unchanged(scope)
        for stage in stages:
            outcome = self.statement(stage, scope, given)
            makers = sources(self.reading.runs[first:])
            given = Input(text=outcome.output, makers=makers, piped=True)
        # some shells run the last stage themselves
        return outcome.within(merged(scope, outcome.either))

    def _and_or(self, both: AndOr, scope: Scope, given: Input) -> Outcome:
        left = self.statement(both.left, scope, given)
        with self._choice():
            if both.operator == "&&":
                right = self.statement(both.right, left.succeeded, given)
                failed = merged(right.failed, left.failed)
                return Outcome(right.succeeded, failed, _appended(left.output, right.output))
            right = self.statement(both.right, left.failed, given)
        return Outcome(merged(left.succeeded, right.succeeded), right.failed)

    @contextmanager
    def _choice(self) -> Iterator[None]:
        self._choices += 1
        try:
            yield
        finally:
            self._choices -= 1

    def _if(self, choice: If, scope: Scope, given: Input) -> Outcome:
        condition = self.block(choice.condition, scope, given)
        with self._choice():
            then = self.block(choice.then, condition.succeeded, given)
            otherwise = self.block(choice.otherwise, condition.failed, given)
        return unchanged(merged(then.either, otherwise.either))

    def _case(
        self, words: tuple[WordNode, ...], arms: tuple[Block, ...], scope: Scope, given: Input
    ) -> Outcome:
        expansion = Expansion(scope, self.dialect, self.substitute)
        expansion.words(words)
        after = expansion.scope
        with self._choice():
            for arm in arms:
                after = merged(after, self.block(arm, after, given).either)
        return unchanged(after)

    def _loop(self, loop: Loop, scope: Scope, given: Input) -> Outcome:
        self._evaluate(loop.inner, (), scope)
        with self._choice():
            if loop.items is not None:
                expansion = Expansion(scope, self.dialect, self.substitute)
                items = expansion.words(loop.items)
                scope = expansion.scope
                if len(items) <= MOST_ITEMS and not any(item.splits for item in items):
                    return self._for_each(loop, items, scope, given)
                return self._repeat(loop, scope.assign(loop.name, unknown()), given)
            if loop.name:
                scope = scope.assign(loop.name, unknown())
            return self._repeat(loop, scope, given)

    def _for_each(
        self, loop: Loop, items: list[Word], scope: Scope, given: Input
    ) -> Outcome:
        for item in items:
            inside = scope.assign(loop.name, item)
            scope = merged(self.block(loop.body, inside, given).either, inside)
        return unchanged(scope)

    def _repeat(self, loop: Loop, scope: Scope, given: Input) -> Outcome:
        """Once as it starts, and once with all unknown that the first time has changed."""
        once = self._once(loop, scope, given)
        changed = {
            name for name, value in once.variables.items() if value != scope.variables.get(name)
        }
        again = merged(scope, once).forget(frozenset(changed))
        if once.directories != scope.directories:
            again = replace(again, directories=(*again.directories[:1], NOWHERE))
        if once.arguments != scope.arguments:
            again = replace(again, arguments=None)
        return unchanged(merged(self._once(loop, again, given), again))

    def _once(self, loop: Loop, scope: Scope, given: Input) -> Scope:
        condition = self.block(loop.condition, scope, given)
        return merged(self.block(loop.body, condition.either, given).either, condition.either)

    def _evaluate(
        self, inner: tuple[Substitution, ...], texts: tuple[str, ...], scope: Scope
    ) -> None:
        for substitution in inner:
            self.substitute(substitution, scope)
        if any(map(runs_in_arithmetic, texts)):
            self.doubt("arithmetic-code", "arithmetic would run a command inside a text")

    # functions and substitutions

    def call(
        self, name: str, functions: tuple[Function, ...], scope: Scope, given: Input
    ) -> Outcome:
        """Call a function; `scope.arguments` are its arguments."""
        self._uncalled.pop(name, None)
        active = [frame for frame in self._frames if frame.name == name]
        if active:
            first = active[0]
            if self._choices == first.choices and self._spawned > first.spawned:
                self.found((known(FORK_BOMB),), FORK_BOMB, scope)
                return unchanged(scope)
            if len(active) >= _MOST_CALLS:
                self.doubt("recursion", f"the function {name} calls itself")
                return unchanged(scope)
        self._frames.append(_Frame(name, self._choices, self._spawned))
        outside, self.local = self.local, set()
        try:
            outcomes = [self.statement(function.body, scope, given) for function in functions]
            local = frozenset(self.local)
        finally:
            self._frames.pop()
            self.local = outside
        after = outcomes[0]
        for other in outcomes[1:]:
            after = unchanged(merged(after.either, other.either))
        return after.forgetting(local) if local else after

    def substitute(self, substitution: Substitution, scope: Scope) -> Hole | Word:
        """Run a substitution; its output, or a hole."""
        first = len(self.reading.runs)
        self._spawned += 1
        given = Input(piped=True) if substitution.kind == "file" else Input()
        output = self.block(substitution.body, scope, given).output
        makers = sources(self.reading.runs[first:])
        if substitution.kind == "file":
            return Hole(makers=makers, content=output)
        if output is None:
            return Hole(makers=makers)
        return _without_last_newlines(output)


def _names_descriptor(redirect: Redirect, target: Word) -> bool:
    text = target.literal
    return redirect.operator == ">&" and text is not None and text.strip("0123456789-") == ""


def _appended(first: Word | None, second: Word | None) -> Word | None:
    return None if first is None or second is None else joined((first, second), "")


def _without_last_newlines(output: Word) -> Word:
    pieces = list(output.pieces)
    while pieces and isinstance(last := pieces[-1], Text):
        kept = last.value.rstrip("\n")
        pieces.pop()
        if kept:
            pieces.append(Text(kept, last.quoted))
            break
    return Word(tuple(pieces) or (Text(""),))


def _with_placeholders(word: Word) -> str:
    """The text with unknown parts as a variable that nobody has set."""
    shown = []
    for piece in word.pieces:
        match piece:
            case Text(value):
                shown.append(value)
            case Glob(pattern):
                shown.append(pattern)
            case Hole():
                shown.append(_UNKNOWN_TEXT)
    return "".join(shown)
