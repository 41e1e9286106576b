"""Whether a parameter stands where any value is read as one value, and never as code."""

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from shlex import quote

from shared.guard.shell.convert import Unreadable
from shared.guard.shell.parse import Dialect, installed_shfmt
from shared.guard.shell.tree import Arithmetic, Literal, Redirect, WordNode

_HOSTILE = "'\"`$({number})\\ #;&\n{number}"
"""A value that ends any quotes, comment or here-document that it is filled into."""


def hostile(number: int) -> str:
    """A value to try a place with, its number in it."""
    return _HOSTILE.format(number=f"place{number}")


def written_for_shell(value: str) -> str:
    """The value as one word of a shell, or as part of one."""
    return quote(value)


def written_for_python(value: str) -> str:
    """The value as a text in Python."""
    return repr(value)


def kept_by_shell(command: str, values: list[str]) -> list[bool]:
    """Which of the values a shell that reads the command finds in its words, just as they are."""
    try:
        tree = installed_shfmt().parse(command, Dialect.POSIX)
    except Unreadable:
        return [False] * len(values)
    words = list(_words(tree))
    return [any(value in word for word in words) for value in values]


def kept_by_python(snippet: str, values: list[str]) -> list[bool]:
    """Which of the values Python finds as texts of the snippet, just as they are.

    Inside an f-string it depends on the version whether quotes end the string, so none is found.
    """
    try:
        texts = set(_texts(ast.parse(snippet)))
    except (SyntaxError, ValueError):
        return [False] * len(values)
    return [value in texts for value in values]


def _words(node: object) -> Iterator[str]:
    """The literal text of every word below.

    What a here-document holds is not a word, and what is evaluated as arithmetic is code.
    """
    if isinstance(node, Arithmetic):
        return
    if isinstance(node, WordNode):
        yield "".join(part.text if isinstance(part, Literal) else "\0" for part in node.parts)
    if isinstance(node, tuple):
        for item in node:
            yield from _words(item)
    elif is_dataclass(node):
        for field in fields(node):
            if not (isinstance(node, Redirect) and field.name == "body"):
                yield from _words(getattr(node, field.name))


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.JoinedStr):
            yield from _texts(child)
