"""What the parts that understand single commands ask of the walk over the whole text."""

from contextlib import AbstractContextManager
from typing import Protocol

from shared.guard.shell.parse import Dialect
from shared.guard.shell.scope import Scope
from shared.guard.shell.streams import Effect, Input
from shared.guard.shell.tree import Function
from shared.guard.shell.written_files import Files
from shared.guard.words import Run, Word


class Interpreter(Protocol):
    """Follows texts, and notes what is found in them.

    `aliases` are names that have become aliases, `fixed` variables that cannot be set again, and
    `local` those of the function that is being followed.
    """

    files: Files
    dialect: Dialect
    aliases: set[str]
    fixed: set[str]
    local: set[str]

    def doubt(self, rule: str, reason: str) -> None:
        """Record something that cannot be decided."""

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
        fed: str = "",
        handed: tuple[tuple[str, str], ...] = (),
        idle_input: bool = False,
        source: Word | None = None,
    ) -> Run:
        """A program runs, or the shell itself opens files."""

    def deeper(self) -> AbstractContextManager[None]:
        """One level of commands inside commands."""

    def guessing(self) -> AbstractContextManager[None]:
        """What is found meanwhile belongs to one of several ways to read the text."""

    def execute(
        self, words: tuple[Word, ...], scope: Scope, given: Input, *, functions: bool = True
    ) -> Effect:
        """Follow a command whose words are known."""

    def code(self, word: Word, interpreter: str, scope: Scope, given: Input) -> Effect:
        """Follow a word that is a command text, as far as it is known."""

    def here(self, word: Word, scope: Scope, given: Input) -> Effect:
        """Follow a word that the running shell itself reads, as `eval` does."""

    def later(self, word: Word, scope: Scope) -> None:
        """Follow a text now, and again at the end."""

    def call(
        self, name: str, functions: tuple[Function, ...], scope: Scope, given: Input
    ) -> Effect:
        """Call a function; `scope.arguments` are its arguments."""
