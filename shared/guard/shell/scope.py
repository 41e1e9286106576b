"""The known state at one point of a text: variables, functions, directories."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shared.domain.secret import VARIABLE
from shared.guard.paths import NOWHERE, START, canonical
from shared.guard.secret_words import secret_in, unknown_like
from shared.guard.shell.tree import Function
from shared.guard.words import HOME, Hole, Word, literal_word, number_word, unknown_word

_MOST_DIRECTORIES = 6
_NUMBERS = frozenset({"#", "?", "$", "!", "UID", "EUID", "PPID", "RANDOM", "SECONDS", "LINENO"})


@dataclass(frozen=True, slots=True)
class Scope:
    """A value: every change makes a new one.

    A variable that is not in `variables` is unknown. `arguments` are `$1` and so on, None when
    they are unknown. `directories` are those it may run in, the likeliest first.
    """

    variables: Mapping[str, Word] = field(default_factory=dict)
    exported: frozenset[str] = frozenset()
    arguments: tuple[Word, ...] | None = None
    functions: Mapping[str, tuple[Function, ...]] = field(default_factory=dict)
    directories: tuple[Word, ...] = (START,)

    def value(self, name: str) -> Word:
        """What `$name` stands for."""
        found = self.variables.get(name)
        if found is not None:
            return found
        if name.startswith(VARIABLE):
            return Word((Hole(secret=name),))
        if name in _NUMBERS:
            return number_word()
        if name == "HOME":
            return literal_word(HOME)
        if name == "IFS":
            return literal_word(" \t\n")
        if name == "PWD" and len(self.directories) == 1:
            return self.directories[0]
        if name.isdecimal() and name != "0" and self.arguments is not None:
            index = int(name) - 1
            return self.arguments[index] if index < len(self.arguments) else literal_word("")
        return unknown_word()

    def assign(self, name: str, value: Word) -> "Scope":
        """With a variable set."""
        return replace(self, variables={**self.variables, name: value})

    def forget(self, names: frozenset[str]) -> "Scope":
        """With these variables unknown, but as secret as they were."""
        unknown = {name: unknown_like(self.value(name)) for name in names}
        return replace(self, variables={**self.variables, **unknown})

    def export(self, name: str) -> "Scope":
        """With a variable handed to the programs that run."""
        return replace(self, exported=self.exported | {name})

    def handed_secrets(self) -> tuple[tuple[str, str], ...]:
        """The variables that hand a secret to the programs that run, each with that secret's."""
        return tuple(
            (name, secret)
            for name in sorted(self.exported)
            if (secret := secret_in((self.value(name),)))
        )

    def define(self, function: Function) -> "Scope":
        """With a function defined."""
        return replace(self, functions={**self.functions, function.name: (function,)})

    def go(self, path: Word) -> "Scope":
        """In another directory."""
        gone = tuple(dict.fromkeys(canonical(path, here) for here in self.directories))
        return replace(self, directories=gone)

    def child(self) -> "Scope":
        """The state that a new shell process starts with: exported variables and the directory."""
        kept = {name: value for name, value in self.variables.items() if name in self.exported}
        hidden = {
            name: unknown_like(value)
            for name, value in self.variables.items()
            if name not in self.exported
        }
        return Scope({**hidden, **kept}, self.exported, (), {}, self.directories)


def merge(first: Scope, second: Scope) -> Scope:
    """The state when either may be the case; the first is the likelier."""
    if first is second:
        return first
    names = first.variables.keys() | second.variables.keys()
    variables = {name: _either(first.value(name), second.value(name)) for name in names}
    functions = {
        name: tuple(dict.fromkeys(first.functions.get(name, ()) + second.functions.get(name, ())))
        for name in first.functions.keys() | second.functions.keys()
    }
    directories = tuple(dict.fromkeys((*first.directories, *second.directories)))
    if len(directories) > _MOST_DIRECTORIES:
        directories = (directories[0], NOWHERE)
    return Scope(
        variables,
        first.exported & second.exported,
        first.arguments if first.arguments == second.arguments else None,
        functions,
        directories,
    )


def _either(first: Word, second: Word) -> Word:
    """What is known of a value that is one of two."""
    if first == second:
        return first
    if not (first.numeric and second.numeric):
        return unknown_like(first, second)
    return number_word(several=not (first.filled and second.filled))
