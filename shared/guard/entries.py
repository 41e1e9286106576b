"""From the text of a `forbidden_commands` entry to the rule it stands for."""

from shared.domain.errors import Misconfigured
from shared.guard.convert import Unreadable
from shared.guard.globs import Pattern
from shared.guard.options import Flag, flags_of
from shared.guard.parse import Dialect, Shfmt
from shared.guard.plain import plain_words
from shared.guard.reading import FORK_BOMB
from shared.guard.rules import CommandRule, OperandPattern, PathPattern, PipeRule, Rule, WriteRule
from shared.guard.screen import objection
from shared.guard.tree import Block, Function, Literal, Pipeline, Simple, Statement, WordNode

MOST_CHARACTERS = 1000
_FOR_EXAMPLE = "write it as one command with the options and operands to forbid, such as `rm -rf /`"


def rule_of(entry: str, shfmt: Shfmt) -> Rule:
    """The rule that an entry stands for.

    An entry is a command of which all that is written must be there for it to hit: `rm -rf /`,
    `mkfs`, `dd of=/dev/sd*`. Two commands joined by `|` forbid feeding the one to the other;
    `> PATH` forbids writing to a file. `*`, `?` and `[…]` are patterns. Raises Misconfigured,
    naming the entry, for everything else.
    """
    if not isinstance(entry, str):
        raise _refused(entry, "it is not a text")
    if not entry.strip():
        raise _refused(entry, "it is empty")
    if len(entry) > MOST_CHARACTERS:
        raise _refused(entry, f"it has more than {MOST_CHARACTERS} characters")
    if problem := objection(entry):
        raise _refused(entry, problem.reason)
    words = plain_words(entry)
    if words:
        return _command(entry, words)
    try:
        return _rule(entry, shfmt.parse(entry, Dialect.BASH))
    except Unreadable as error:
        raise _refused(entry, str(error)) from error


def _rule(entry: str, block: Block) -> Rule:
    commands = [statement.command for statement in block]
    if len(block) == 2 and isinstance(commands[0], Function):
        return CommandRule(entry, Pattern(FORK_BOMB), (), ())
    if len(block) != 1:
        raise _refused(entry, "it is not one command")
    statement = block[0]
    match statement.command:
        case None:
            return _write(entry, statement)
        case Simple():
            return _command(entry, _texts(entry, statement))
        case Pipeline((first, then)):
            return PipeRule(
                entry,
                _command(entry, _texts(entry, first)),
                _command(entry, _texts(entry, then)),
            )
        case _:
            raise _refused(entry, "it is more than one command")


def _write(entry: str, statement: Statement) -> Rule:
    if len(statement.redirects) != 1 or statement.redirects[0].operator not in (">", ">>"):
        raise _refused(entry, "it names no command")
    return WriteRule(entry, PathPattern(_text(entry, statement.redirects[0].target)))


def _texts(entry: str, statement: Statement) -> list[str]:
    command = statement.command
    if not isinstance(command, Simple) or statement.redirects or statement.background:
        raise _refused(entry, "it is more than a command and its words")
    if command.assignments:
        raise _refused(entry, "it sets a variable")
    return [_text(entry, word) for word in command.words]


def _text(entry: str, word: WordNode) -> str:
    texts = []
    for part in word.parts:
        if not isinstance(part, Literal):
            raise _refused(entry, "a part of it is only known when it runs")
        texts.append(part.text)
    return "".join(texts)


def _command(entry: str, words: list[str]) -> CommandRule:
    program = words[0].rpartition("/")[2]
    if not program:
        raise _refused(entry, "it names no program")
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
        raise _refused(entry, "it would forbid every command")
    return CommandRule(entry, Pattern(program), tuple(flags), tuple(operands))


def _refused(entry: object, why: str) -> Misconfigured:
    return Misconfigured(
        f"the entry {entry!r} of forbidden_commands cannot be used: {why}; {_FOR_EXAMPLE}",
        stage="guard",
        next_step_cmd="replan config show forbidden_commands",
    )
