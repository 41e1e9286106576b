"""Statements in which a secret stands where its way cannot be followed."""

import re
from collections.abc import Iterator

from shared.guard.secret_words import secret_behind
from shared.guard.shell.scope import Scope
from shared.guard.shell.tree import (
    OPAQUE,
    Case,
    Evaluation,
    Loop,
    Opaque,
    Parameter,
    Simple,
    Statement,
    WordNode,
)

_NAMES = re.compile(r"[A-Za-z_]\w*|(?<=\$)[0-9@*]|(?<=\{)[0-9@*]|(?<=\{#)[0-9@*]")
_BY_NAME = "${!"


def unclear_use(statement: Statement, scope: Scope) -> str:
    """Why a statement may give a secret away through the shell itself; empty where it cannot.

    A condition and a `case` tell something about the value with every branch that they take, as
    parts of it and its length do.
    """
    match statement.command:
        case Evaluation():
            return _told("it compares", statement, scope)
        case Case(words):
            if any(_names_secret(word, scope) for word in words):
                return "it compares a secret"
        case Loop(arithmetic=head) if head is not None:
            return _told("it computes with", statement, scope)
        case _:
            pass
    if any(r.body is not None and _is_opaque(r.body) for r in statement.redirects):
        return "it computes in a here-document beside a secret"
    if not any(map(_is_opaque, _words(statement))):
        return ""
    if _BY_NAME in statement.source:
        return "it uses a variable by a computed name beside a secret"
    return _told("it takes a part of", statement, scope)


def _told(what: str, statement: Statement, scope: Scope) -> str:
    names = dict.fromkeys(_NAMES.findall(statement.source))
    return f"{what} a secret" if any(_holds_secret(name, scope) for name in names) else ""


def _holds_secret(name: str, scope: Scope) -> bool:
    if name in ("@", "*"):
        return bool(secret_behind(scope.arguments or ()))
    return bool(secret_behind((scope.value(name),)))


def _names_secret(word: WordNode, scope: Scope) -> bool:
    return any(
        _holds_secret(part.name, scope) for part in word.parts if isinstance(part, Parameter)
    )


def _words(statement: Statement) -> Iterator[WordNode]:
    match statement.command:
        case Simple(assignments, words):
            yield from (assignment.value for assignment in assignments)
            yield from words
        case Loop(items=items):
            yield from items or ()
        case Case(words):
            yield from words[:1]
        case _:
            pass
    yield from (redirect.target for redirect in statement.redirects)


def _is_opaque(word: WordNode) -> bool:
    for part in word.parts:
        if isinstance(part, Opaque):
            return True
        if isinstance(part, Parameter) and (
            part.operator == OPAQUE or (part.argument is not None and _is_opaque(part.argument))
        ):
            return True
    return False
