"""Turns the text of a `forbidden_commands` entry into its rule."""

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.guard.display_safety import objection
from shared.guard.findings import FORK_BOMB
from shared.guard.globs import Pattern
from shared.guard.policy.rules import (
    CommandRule,
    OperandPattern,
    PathPattern,
    PipeRule,
    Rule,
    WriteRule,
)
from shared.guard.programs.options import Flag, flags_of
from shared.guard.shell.convert import Unreadable
from shared.guard.shell.fast_path import plain_patterns
from shared.guard.shell.parse import Dialect, Shfmt
from shared.guard.shell.tree import Block, Function, Literal, Pipeline, Simple, Statement, WordNode

MOST_CHARACTERS = 1000
_WRITE = (">", "PATH")
_FOR_EXAMPLE = "write it as one command with the options and operands to forbid, such as `rm -rf /`"


def rule_of(entry: str, shfmt: Shfmt) -> Rule:
    """The rule of an entry.

    An entry is a command; it matches if everything written in it is present: `rm -rf /`, `mkfs`,
    `dd of=/dev/sd*`. Two commands joined by `|` forbid feeding one to the other; `> PATH` forbids
    writing to a file. `*`, `?` and `[…]` are patterns. Raises Misconfigured, naming the entry, for
    everything else.
    """
    if not isinstance(entry, str):
        raise _refuse(entry, "it is not a text")
    if not entry.strip():
        raise _refuse(entry, "it is empty")
    if len(entry) > MOST_CHARACTERS:
        raise _refuse(entry, f"it has more than {MOST_CHARACTERS} characters")
    if problem := objection(entry):
        raise _refuse(entry, problem.reason)
    if "\n" in entry:
        raise _refuse(entry, "it has more than one line")
    words = entry.split()
    if words[0] == ">" and plain_patterns(words[1:2]) and len(words) == len(_WRITE):
        return WriteRule(entry, PathPattern(words[1]))
    commands = [command.split() for command in entry.split("|")]
    if all(map(plain_patterns, commands)):
        return _pipe_rule(entry, [_command(entry, command) for command in commands])
    try:
        return _rule(entry, shfmt.parse(entry, Dialect.BASH))
    except Unreadable as error:
        raise _refuse(entry, str(error)) from error


def _rule(entry: str, block: Block) -> Rule:
    if len(block) > 1 and isinstance(block[0].command, Function):
        return CommandRule(entry, Pattern(FORK_BOMB), (), ())
    if len(block) != 1:
        raise _refuse(entry, "it is not one command")
    statement = block[0]
    match statement.command:
        case None:
            return _write(entry, statement)
        case Simple():
            return _command(entry, _texts(entry, statement))
        case Pipeline(stages):
            return _pipe_rule(entry, [_command(entry, _texts(entry, stage)) for stage in stages])
        case _:
            raise _refuse(entry, "it is more than one command")


def _pipe_rule(entry: str, commands: list[CommandRule]) -> Rule:
    match commands:
        case [command]:
            return command
        case [first, then]:
            return PipeRule(entry, first, then)
        case _:
            raise _refuse(entry, "it is more than two commands")


def _write(entry: str, statement: Statement) -> Rule:
    if len(statement.redirects) != 1 or statement.redirects[0].operator not in (">", ">>"):
        raise _refuse(entry, "it names no command")
    return WriteRule(entry, PathPattern(_text(entry, statement.redirects[0].target)))


def _texts(entry: str, statement: Statement) -> list[str]:
    command = statement.command
    if not isinstance(command, Simple) or statement.redirects or statement.background:
        raise _refuse(entry, "it is more than a command and its words")
    if command.assignments:
        raise _refuse(entry, "it sets a variable")
    return [_text(entry, word) for word in command.words]


def _text(entry: str, word: WordNode) -> str:
    texts = []
    for part in word.parts:
        if not isinstance(part, Literal):
            raise _refuse(entry, "a part of it is known only when it runs")
        texts.append(part.text)
    return "".join(texts)


def _command(entry: str, words: list[str]) -> CommandRule:
    program = words[0].rpartition("/")[2]
    if not program:
        raise _refuse(entry, "it names no program")
    flags: list[Flag] = []
    operands = []
    options_ended = False
    for word in words[1:]:
        if word == "--" and not options_ended:
            options_ended = True
        elif word.startswith("-") and len(word) > 1 and not options_ended:
            flags += flags_of(program, word)
        else:
            operands.append(OperandPattern(program, word))
    if not program.strip("*?") and not flags and not operands:
        raise _refuse(entry, "it would forbid every command")
    return CommandRule(entry, Pattern(program), tuple(flags), tuple(operands))


def _refuse(entry: object, why: str) -> Misconfigured:
    return Misconfigured(
        f"the entry {entry!r} of forbidden_commands cannot be used: {why}; {_FOR_EXAMPLE}",
        stage="guard",
        next_step=NextStep.of("config show", "forbidden_commands"),
    )
