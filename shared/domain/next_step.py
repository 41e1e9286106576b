"""What a person can do next, as a value: each face renders it in its own way.

A command line shows `replan intervention approve I7 --for-task`, a web page a button.
"""

import re
import shlex
from dataclasses import dataclass, replace
from typing import overload

_PLAIN = re.compile(r"[\w@%+=:,./-][\w@%+=:,./#-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Blank:
    """A blank for the person to fill in: `FILE`. `text` marks free text of several words."""

    name: str
    text: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """An option by its long name without dashes; a flag has no value."""

    name: str
    value: str | Blank | None = None


@dataclass(frozen=True, slots=True)
class NextStep:
    """A verb of this program (`step revise`) with what it takes."""

    verb: str
    arguments: tuple[str | Blank, ...] = ()
    options: tuple[Option, ...] = ()

    @classmethod
    def of(cls, verb: str, *arguments: object, **options: object) -> "NextStep":
        """`NextStep.of("bundle send", ref, note=Blank("WHY", text=True))`.

        An option that is True is a flag; one that is None or False is left out. Underscores stand
        for dashes; one at the end is dropped, for names that Python reserves.
        """
        return cls(
            verb,
            tuple(map(_value, arguments)),
            tuple(
                Option(name.rstrip("_").replace("_", "-"), None if value is True else _value(value))
                for name, value in options.items()
                if value is not None and value is not False
            ),
        )

    def fill(self, blank: str, value: str) -> "NextStep":
        """The same step with that value in place of the blank of this name."""

        def fill(found: str | Blank) -> str | Blank:
            return value if isinstance(found, Blank) and found.name == blank else found

        return NextStep(
            self.verb,
            tuple(map(fill, self.arguments)),
            tuple(
                option if option.value is None else replace(option, value=fill(option.value))
                for option in self.options
            ),
        )


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A command of another program, as it is typed into a shell: `ssh-copy-id …`."""

    text: str


def edit_file(path: object) -> ShellCommand:
    """Open a file in the person's editor: what leads on where its text is wrong."""
    return ShellCommand(f"${{EDITOR:-vi}} {shlex.quote(str(path))}")


Advice = NextStep | ShellCommand
"""Everything that can be advised."""


@overload
def command_line(step: Advice) -> str: ...
@overload
def command_line(step: None) -> None: ...
def command_line(step: Advice | None) -> str | None:
    """The text to type into a shell; arguments are quoted where the shell needs it."""
    match step:
        case None:
            return None
        case ShellCommand(text):
            return text
        case NextStep(verb, arguments, options):
            flags = [word for option in options for word in _option(option)]
            words = [_word(argument) for argument in arguments]
            dashes = ["--"] if any(str(given).startswith("-") for given in arguments) else []
            taken = [*flags, *dashes, *words] if dashes else [*words, *flags]
            return " ".join(word for word in ("replan", verb, *taken) if word)


def _option(option: Option) -> list[str]:
    name = f"--{option.name}"
    return [name] if option.value is None else [name, _word(option.value)]


def _word(value: str | Blank) -> str:
    if isinstance(value, Blank):
        return f'"{value.name}"' if value.text else value.name
    return value if _PLAIN.fullmatch(value) else shlex.quote(value)


def _value(value: object) -> str | Blank:
    return value if isinstance(value, Blank) else str(value)
