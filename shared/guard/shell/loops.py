"""Tells of loops that nothing ends, or that take more turns than a command may without a person."""

import re
from collections.abc import Iterator

from shared.guard.shell.constants import outcome_of_words
from shared.guard.shell.tree import (
    AndOr,
    Block,
    Case,
    Evaluation,
    Group,
    If,
    Literal,
    Loop,
    Opaque,
    Parameter,
    Part,
    Pipeline,
    Redirect,
    Simple,
    Statement,
    WordNode,
)

MOST_TURNS = 10_000
"""A loop that counts further asks."""

MOST_DOUBLINGS = 16
"""A loop of so many turns may make a variable longer by itself."""

MOST_BESIDE = 64
"""A loop of so many turns may start a process beside the shell in each."""

_LEAVES = frozenset({"break", "exit", "return", "exec"})
_MAKES = frozenset({"mkdir", "mktemp", "touch", "cp", "tee", "ln", "mkfifo", "fallocate", "split"})
_WAITS = frozenset({"sleep", "read", "wait", "inotifywait", "timeout"})
_COMPARES = frozenset({"-lt", "-le", "-ne", "-gt", "-ge"})
_NUMBER = re.compile(r"[0-9]+")
_CONSTANT_NUMBER = re.compile(r"\(\(\s*([0-9]+)\s*\)\)")
_WRITES = (">", ">>", ">|", "&>", "&>>")


def objection(loop: Loop) -> str | None:
    """Why a person has to see a loop, or None. `for` over words ends; its turns are counted."""
    if loop.items is not None or loop.name:
        return None
    if not any(word in _LEAVES for word in _names(loop.condition + loop.body)):
        if _goes_on(loop):
            return "a loop never ends"
        if not loop.until and _makes(loop.condition):
            return "a loop goes on for as long as it can make files"
    if _never_waits(loop):
        return "a loop never waits"
    return "a loop takes very many turns" if _counts_far(loop) else None


def grows(loop: Loop, turns: int | None) -> str | None:
    """Why a loop of so many turns, None if that is not known, may fill what the host has."""
    if (turns is None or turns > MOST_DOUBLINGS) and any(map(_doubles, _assigned(loop.body))):
        return "a loop makes a variable longer by itself, turn by turn"
    if (turns is None or turns > MOST_BESIDE) and any(s.background for s in _statements(loop.body)):
        return "a loop starts a process in each of its turns"
    inner = (s.command for s in _statements(loop.body) if isinstance(s.command, Loop))
    if any(_doubles(ways) for each in inner for ways in _assigned(each.body)):
        return "a loop in a loop makes a variable longer by itself"
    return None


def _assigned(body: Block) -> Iterator[dict[str, list[str]]]:
    """The variables of a body with those in their new values, as often as they stand there."""
    ways: dict[str, list[str]] = {}
    for statement in _statements(body):
        if isinstance(statement.command, Simple):
            for each in statement.command.assignments:
                used = list(_used(each.value.parts))
                ways.setdefault(each.name, []).extend(used if each.plain else [each.name, *used])
    yield ways


def _used(parts: tuple[Part, ...]) -> Iterator[str]:
    """The names of the variables in a value."""
    for part in parts:
        if isinstance(part, Parameter):
            yield part.name
        elif isinstance(part, Opaque):
            yield from _used(part.inner)


def _doubles(ways: dict[str, list[str]]) -> bool:
    """Whether a variable comes back into itself more than once, also through another one."""
    return any(_returns(name, name, ways, frozenset()) > 1 for name in ways)


def _returns(name: str, start: str, ways: dict[str, list[str]], passed: frozenset[str]) -> int:
    """How often the value of `start` stands in the new value of `name`."""
    count = 0
    for each in ways.get(name, ()):
        if each == start:
            count += 1
        elif each not in passed:
            count += _returns(each, start, ways, passed | {each})
    return count


def feeds_itself(statement: Statement) -> bool:
    """Whether it is a loop that reads a file to whose end it writes."""
    if not isinstance(statement.command, Loop):
        return False
    inputs = {_text(r.target) for r in statement.redirects if r.operator == "<"} - {None}
    return _goes_round(statement.command.body) or any(
        r.appends and _text(r.target) in inputs
        for inner in _statements(statement.command.body)
        for r in inner.redirects
    )


def _goes_round(body: Block) -> bool:
    """Whether files are copied into each other: each turn makes them larger."""
    ways: dict[str, set[str]] = {}
    for statement in _statements(body):
        command = statement.command
        if not isinstance(command, Simple) or not command.words or _text(command.words[0]) != "cat":
            continue
        read = {text for word in command.words[1:] if (text := _text(word))}
        for redirect in statement.redirects:
            if redirect.operator in _WRITES and (written := _text(redirect.target)):
                ways.setdefault(written, set()).update(read)
    return any(_leads_back(file, ways) for file in ways)


def _leads_back(file: str, ways: dict[str, set[str]]) -> bool:
    seen: set[str] = set()
    waiting = list(ways[file])
    while waiting:
        each = waiting.pop()
        if each == file:
            return True
        if each not in seen:
            seen.add(each)
            waiting += ways.get(each, ())
    return False


def _never_waits(loop: Loop) -> bool:
    """Whether it does nothing but ask a program again and again."""
    idle = set(_names(loop.body))
    asked = set(_names(loop.condition))
    return bool(idle and asked) and idle <= {":", "true"} and not asked & (_WAITS | {"[", "test"})


def _goes_on(loop: Loop) -> bool:
    """Whether its condition holds whatever the host is like."""
    if loop.arithmetic is not None:
        return loop.unbounded
    last = loop.condition[-1] if loop.condition else None
    if last is None:
        return False
    outcome = _outcome(last)
    return outcome is not None and outcome is not (loop.until != last.negated)


def _outcome(statement: Statement) -> bool | None:
    match statement.command:
        case Simple(_, words) if words:
            texts = [_text(word) for word in words]
            return None if texts[0] is None else outcome_of_words(texts[0], texts[1:])
        case Evaluation():
            found = _CONSTANT_NUMBER.fullmatch(statement.source.strip("; \n"))
            return None if found is None else int(found[1]) != 0
        case Group(body) if body:
            return _outcome(body[-1])
        case _:
            return None


def _makes(condition: Block) -> bool:
    """Whether a condition that goes on as long as it ends well makes files."""
    for statement in _statements(condition):
        if statement.negated:
            return False
        if any(r.operator in _WRITES and _is_file(r) for r in statement.redirects):
            return True
    return any(name in _MAKES for name in _names(condition))


def _is_file(redirect: Redirect) -> bool:
    return not (_text(redirect.target) or "").startswith(("/dev/", "&"))


def _counts_far(loop: Loop) -> bool:
    if any(name in _WAITS for name in _names(loop.body)):
        return False
    if loop.arithmetic is not None:
        steps = [step for step in loop.arithmetic.steps if isinstance(step, WordNode)]
        return any(_is_far(_text(step)) for step in steps)
    for statement in _statements(loop.condition):
        match statement.command:
            case Simple(_, words) if words and _text(words[0]) in ("[", "test"):
                texts = [_text(word) for word in words]
                counter = any(_is_variable(word) for word in words)
                if counter and _COMPARES & set(texts) and any(map(_is_far, texts)):
                    return True
            case Evaluation(_, arithmetic):
                steps = [step for step in arithmetic.steps if isinstance(step, WordNode)]
                if any(_is_far(_text(step)) for step in steps):
                    return True
            case _:
                pass
    return False


def _is_far(text: str | None) -> bool:
    return text is not None and _NUMBER.fullmatch(text) is not None and int(text) > MOST_TURNS


def _is_variable(word: WordNode) -> bool:
    return len(word.parts) == 1 and isinstance(word.parts[0], Parameter)


def _names(block: Block) -> Iterator[str | None]:
    for statement in _statements(block):
        if isinstance(statement.command, Simple):
            for word in statement.command.words[:1]:
                yield _text(word)


def _statements(block: Block) -> Iterator[Statement]:
    """All statements of a block, those inside others too."""
    for statement in block:
        yield statement
        match statement.command:
            case Pipeline(stages):
                yield from _statements(stages)
            case AndOr(_, left, right):
                yield from _statements((left, right))
            case Group(body):
                yield from _statements(body)
            case If(condition, then, otherwise):
                yield from _statements(condition + then + otherwise)
            case Loop(condition, body):
                yield from _statements(condition + body)
            case Case(_, arms):
                for arm in arms:
                    yield from _statements(arm)
            case _:
                pass


def _text(word: WordNode) -> str | None:
    texts = [part.text if isinstance(part, Literal) else None for part in word.parts]
    return None if None in texts else "".join(filter(None, texts))
