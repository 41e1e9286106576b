"""What goes into a command of a text and what comes out of it."""

from dataclasses import dataclass, replace

from shared.guard.shell.scope import Scope, merge
from shared.guard.words import Hole, Run, Word, literal_word

_MOST_SOURCES = 64


@dataclass(frozen=True, slots=True)
class Input:
    """Standard input: its text, or the file it comes from, or the runs that make it.

    Without any of them it is the one that the whole text was given.
    """

    text: Word | None = None
    file: Word | None = None
    makers: tuple[Run, ...] = ()
    piped: bool = False

    @property
    def given(self) -> bool:
        """Check whether the text itself says what comes in."""
        return self.piped or self.text is not None or self.file is not None

    @property
    def word(self) -> Word:
        """Its text, with what is unknown as a hole that knows its makers."""
        return self.text if self.text is not None else Word((Hole(makers=self.makers),))


@dataclass(frozen=True, slots=True)
class Effect:
    """What is known when it succeeded, when it failed, and what it has put out (None: unknown)."""

    succeeded: Scope
    failed: Scope
    output: Word | None = None

    @property
    def either(self) -> Scope:
        """What is known whether it succeeded or failed."""
        return merge(self.succeeded, self.failed)

    def forgetting(self, names: frozenset[str]) -> "Effect":
        """The same, with these variables unknown."""
        succeeded, failed = self.succeeded.forget(names), self.failed.forget(names)
        return replace(self, succeeded=succeeded, failed=failed)

    def within(self, scope: Scope) -> "Effect":
        """The same, run in a process of its own: what it changes is lost."""
        return replace(self, succeeded=scope, failed=scope)


def unchanged(scope: Scope, output: Word | None = None) -> Effect:
    """The outcome of what changes nothing."""
    return Effect(scope, scope, output)


def silent(scope: Scope) -> Effect:
    """The outcome of what changes and prints nothing."""
    return Effect(scope, scope, literal_word(""))


def sources(runs: list[Run] | tuple[Run, ...]) -> tuple[Run, ...]:
    """These runs and all that feed them."""
    found: dict[Run, None] = {}
    for run in runs:
        found.update(dict.fromkeys((run, *run.feeders)))
    return tuple(found)[-_MOST_SOURCES:]
