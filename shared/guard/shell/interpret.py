"""Follows a command text as a shell would, without running anything."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from shared.domain.secret import VARIABLE
from shared.guard.findings import FORK_BOMB, Doubt, Findings
from shared.guard.secret_words import secret_behind, secret_in, spill, unknown_like
from shared.guard.shell.braces import TooManyWords
from shared.guard.shell.branches import follow_branches
from shared.guard.shell.convert import Unreadable
from shared.guard.shell.execute import execute
from shared.guard.shell.expand import Expansion
from shared.guard.shell.loops import feeds_itself
from shared.guard.shell.parse import UNREADABLE, BadSyntax, Dialect, Shfmt, dialects
from shared.guard.shell.redirected import names_descriptor, redirected_input
from shared.guard.shell.scope import Scope, merge
from shared.guard.shell.streams import Effect, Input, silent, sources, unchanged
from shared.guard.shell.tree import (
    Apart,
    Block,
    Evaluation,
    Function,
    Group,
    Simple,
    Statement,
    Substitution,
)
from shared.guard.shell.unclear import unclear_use
from shared.guard.shell.variables import assign, dangerous_in
from shared.guard.shell.written_files import File, Files
from shared.guard.words import Hole, Run, Word, join, literal_word, made_by, unknown_word

MOST_RUNS = 4000
MOST_STEPS = 20_000
MOST_PARSES = 40
MOST_NESTING = 12
_MOST_CALLS = 3
_PART = 200
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_UNKNOWN_TEXT = "${__unknown}"


class TooMuch(Exception):
    """The text is too large, or nested too deeply, to be followed to its end."""


@dataclass(frozen=True, slots=True)
class _FunctionCall:
    """A function that is being run, and how often there was a choice or a new process then."""

    name: str
    choices: int
    spawned: int


class Walk:
    """One walk over one text; `reading` holds what was found."""

    def __init__(self, shfmt: Shfmt) -> None:
        self.findings = Findings()
        self.files = Files()
        self.dialect = Dialect.POSIX
        self.aliases: set[str] = set()
        self.fixed: set[str] = set()
        self.local: set[str] = set()
        self._part = ""
        self._sure = True
        self._shfmt = shfmt
        self._parses = self._steps = self._nesting = 0
        self._choices = self._spawned = 0
        self._frames: list[_FunctionCall] = []
        self._uncalled: dict[str, tuple[Function, Scope]] = {}
        self._later: list[tuple[Word, Dialect, Scope]] = []

    # what is found

    def doubt(self, rule: str, reason: str) -> None:
        """Record something that cannot be decided."""
        self.findings.doubts.append(Doubt(rule, reason, self._part))

    def add_run(
        self,
        argv: tuple[Word, ...],
        program: str,
        scope: Scope,
        *,
        writes: tuple[Word, ...] = (),
        feeders: tuple[Run, ...] = (),
        reads: tuple[Word, ...] = (),
        sets: tuple[str, ...] = (),
        appends: bool = False,
        fed: str = "",
        handed: tuple[tuple[str, str], ...] = (),
        idle_input: bool = False,
        source: Word | None = None,
    ) -> Run:
        """A program runs, or the shell itself opens files; raises TooMuch past the limit."""
        if len(self.findings.runs) >= MOST_RUNS:
            raise TooMuch(f"it runs more than {MOST_RUNS} commands")
        at = scope.directories
        part, sure = self._part, self._sure
        carries = fed or secret_behind(argv)
        run = Run(
            argv, program, at, writes, feeders, part, sure, reads, sets, appends, fed, carries,
            handed, idle_input, self.findings.given_input, source,
        )  # fmt: skip
        self.findings.runs.append(run)
        return run

    @contextmanager
    def guessing(self) -> Iterator[None]:
        """What is found meanwhile belongs to one of several ways to read the text."""
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

    def plain(self, words: list[str], text: str) -> Effect:
        """Follow one command whose words are certain."""
        self._part = text.strip()[:_PART]
        self.findings.names_secret |= VARIABLE in text
        return self.execute(tuple(map(literal_word, words)), Scope(), Input())

    def text(self, text: str, interpreter: str, scope: Scope, given: Input) -> Effect:
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
                self.doubt(UNREADABLE, str(error))
                if dialect is Dialect.POSIX and interpreter != "dash" and not waiting:
                    waiting = [Dialect.BASH]  # the worst it can be where `sh` is bash
            except Unreadable as error:
                self.doubt(UNREADABLE, str(error))
            except TooManyWords as error:
                self.doubt("too-large", str(error))
            else:
                outcome = outcome or followed
        return outcome or unchanged(scope)

    def _in_dialect(self, text: str, dialect: Dialect, scope: Scope, given: Input) -> Effect:
        self._parses += 1
        if self._parses > MOST_PARSES:
            raise TooMuch(f"it has more than {MOST_PARSES} texts inside texts")
        block = self._shfmt.parse(text, dialect)
        self.findings.names_secret |= VARIABLE in text
        if name := dangerous_in(text):
            self.doubt("environment", f"it sets {name}, which changes what programs do")
        before, self.dialect = self.dialect, dialect
        try:
            with self.deeper():
                return self.block(block, scope, given)
        finally:
            self.dialect = before

    def code(self, word: Word, interpreter: str, scope: Scope, given: Input) -> Effect:
        """Follow a word that is a command text, as far as it is known."""
        text = word.literal
        if text is None:
            self.doubt("unknown-code", f"the text that {interpreter} runs is not known: {word}")
            text = word.with_placeholder(_UNKNOWN_TEXT)
        if not text.strip():
            return silent(scope)
        return self.text(text, interpreter, scope, given)

    def here(self, word: Word, scope: Scope, given: Input) -> Effect:
        """Follow a word that the running shell itself reads, as `eval` does."""
        return self.code(word, "bash" if self.dialect is Dialect.BASH else "dash", scope, given)

    def later(self, word: Word, scope: Scope) -> None:
        """Follow a text now, and again at the end, when variables may differ."""
        self._later.append((word, self.dialect, scope))
        self.here(word, scope, Input())

    def finish(self, outcome: Effect) -> None:
        """Follow what runs after the text, and functions that may be called without being seen."""
        later, self._later = self._later, []
        for word, dialect, scope in later:
            self.dialect = dialect
            self.here(word, merge(scope, outcome.either), Input())
        while self._uncalled:
            name, (function, scope) = self._uncalled.popitem()
            self.call(name, (function,), replace(scope, arguments=None), Input())
        if late := self.files.run_before_written():
            self.doubt("written-script", f"it runs files and writes them: {', '.join(late)}")

    # statements

    def block(self, block: Block, scope: Scope, given: Input) -> Effect:
        """Statements, one after the other."""
        outcome = silent(scope)
        outputs: list[Word] | None = []
        for statement in block:
            outcome = self.statement(statement, outcome.either, given)
            if outputs is not None and outcome.output is not None:
                outputs.append(outcome.output)
            else:
                outputs = None
        output = None if outputs is None else join(outputs, "")
        return replace(outcome, output=output)

    def statement(self, statement: Statement, scope: Scope, given: Input) -> Effect:
        """One statement with its redirections."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise TooMuch(f"it may take more than {MOST_STEPS} steps")
        part_before, piped_before = self._part, self.findings.piped
        self.findings.piped |= given.given
        self._part = statement.source[:_PART] or self._part
        try:
            if self.findings.names_secret and (why := unclear_use(statement, scope)):
                self.doubt("secret-elsewhere", why)
            if statement.background:
                self.spawn()
            outcome = self._redirect(statement, scope, given)
        finally:
            self._part, self.findings.piped = part_before, piped_before
        if statement.negated:
            outcome = replace(outcome, succeeded=outcome.failed, failed=outcome.succeeded)
        return outcome.within(scope) if statement.background else outcome

    def _redirect(self, statement: Statement, scope: Scope, given: Input) -> Effect:
        expansion = self.expansion(scope)
        outputs: list[tuple[Word, bool]] = []
        opened: list[Word] = []
        for redirect in statement.redirects:
            target = expansion.value(redirect.target).with_globs()
            self.findings.redirected |= redirect.takes_input
            given = redirected_input(self, redirect, target, expansion, given)
            if redirect.operator in _WRITES and not names_descriptor(redirect, target):
                self.add_run((), "", expansion.scope, writes=(target,), appends=redirect.appends)
                opened.append(target)
                if redirect.descriptor in ("", "1") and redirect.operator != "<>":
                    outputs.append((target, redirect.appends))
        first = self.count
        if feeds_itself(statement):
            self.doubt("endless-loop", "a loop writes to the file that it reads")
        outcome = self._command(statement, expansion.scope, given)
        if not opened:
            return outcome
        makers = self.makers_since(first)
        content = outcome.output or unknown_word(makers=makers)
        if name := spill(content, makers, opened):
            self.findings.spilled.append(Doubt(name, "", self._part))
        if not outputs:
            return outcome
        for path, append in outputs:
            self.files.write(path, scope.directories[0], File(content), append=append)
        return replace(outcome, output=literal_word(""))

    def _command(self, statement: Statement, scope: Scope, given: Input) -> Effect:
        match statement.command:
            case None:
                return unchanged(scope)  # `$(< file)` puts out the file
            case Simple() as simple:
                return self._simple(simple, scope, given)
            case Group(body, apart):
                outcome = self.block(body, scope, given)
                return outcome.within(scope) if apart else outcome
            case Function() as function:
                defined = scope.define(function)
                self._uncalled[function.name] = (function, defined)
                return silent(defined)
            case Evaluation() as evaluation:
                return silent(self.evaluate(evaluation, scope))
            case Apart(inside):
                return self.statement(inside, scope, Input(piped=True)).within(scope)
            case branching:
                return follow_branches(self, branching, scope, given)

    def _simple(self, simple: Simple, scope: Scope, given: Input) -> Effect:
        expansion = self.expansion(scope)
        values = []
        for assignment in simple.assignments:
            value = expansion.value(assignment.value)
            before = scope.value(assignment.name)
            values.append((assignment.name, value if assignment.plain else unknown_like(before)))
        words = expansion.words(simple.words)
        scope = expansion.scope
        if not words:
            for name, value in values:
                scope = assign(self, scope, name, value)
            return silent(scope)
        inside = scope
        for name, value in values:
            inside = assign(self, inside, name, value).export(name)
            if not secret_in((value,)):
                self.add_run((), "", inside, sets=(name,))
        if simple.words and any(isinstance(p, Substitution) for p in simple.words[0].parts):
            self.doubt("computed-command", f"the name of the command is computed: {words[0]}")
        outcome = self.execute(tuple(words), inside, given)
        names = frozenset(name for name, _ in values)  # shells differ in whether these stay
        return outcome.forgetting(names) if names else outcome

    def execute(
        self, words: tuple[Word, ...], scope: Scope, given: Input, *, functions: bool = True
    ) -> Effect:
        """Follow a command whose words are known."""
        return execute(self, words, scope, given, functions=functions)

    @contextmanager
    def choice(self) -> Iterator[None]:
        """Commands that are followed meanwhile may not run at all."""
        self._choices += 1
        try:
            yield
        finally:
            self._choices -= 1

    def spawn(self) -> None:
        """A process is started beside this one."""
        self._spawned += 1

    def makers_since(self, count: int) -> tuple[Run, ...]:
        """The runs after the first `count`, with all that feeds them."""
        return sources(self.findings.runs[count:])

    @property
    def count(self) -> int:
        """How many runs have been found."""
        return len(self.findings.runs)

    def expansion(self, scope: Scope) -> Expansion:
        """Expands words as this shell does."""
        return Expansion(scope, self.dialect, self.substitute, self.doubt)

    def evaluate(self, evaluation: Evaluation, scope: Scope) -> Scope:
        """Follow what runs inside arithmetic and conditions."""
        expansion = self.expansion(scope)
        expansion.expand(evaluation.inner)
        for name in evaluation.names:
            expansion.name(name)
        expansion.evaluate(evaluation.arithmetic)
        return expansion.scope

    # functions and substitutions

    def call(
        self, name: str, functions: tuple[Function, ...], scope: Scope, given: Input
    ) -> Effect:
        """Call a function; `scope.arguments` are its arguments."""
        self._uncalled.pop(name, None)
        active = [frame for frame in self._frames if frame.name == name]
        if active:
            first = active[0]
            if self._choices == first.choices and self._spawned > first.spawned:
                self.add_run((literal_word(FORK_BOMB),), FORK_BOMB, scope)
                return unchanged(scope)
            if len(active) >= _MOST_CALLS:
                self.doubt("recursion", f"the function {name} calls itself")
                return unchanged(scope)
        self._frames.append(_FunctionCall(name, self._choices, self._spawned))
        outside, self.local = self.local, set()
        try:
            outcomes = [self.statement(function.body, scope, given) for function in functions]
            local = frozenset(self.local)
        finally:
            self._frames.pop()
            self.local = outside
        after = outcomes[0]
        for other in outcomes[1:]:
            after = unchanged(merge(after.either, other.either))
        return after.forgetting(local) if local else after

    def substitute(self, substitution: Substitution, scope: Scope) -> Hole | Word:
        """Run a substitution; its output, or a hole."""
        first = self.count
        self.spawn()
        given = Input(piped=True) if substitution.kind == "file" else Input()
        output = self.block(substitution.body, scope, given).output
        makers = self.makers_since(first)
        if substitution.kind == "file":
            return Hole(makers=makers, content=output)
        if output is None:
            return Hole(makers=makers)
        return made_by(output.without_last_newlines(), makers)
