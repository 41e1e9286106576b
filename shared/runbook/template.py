"""Parameters in a runbook: `${name}` becomes the value, quoted for its reader."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Any

from shared.contracts.yamltext import Path, spell_path
from shared.runbook.placement import (
    hostile,
    kept_by_python,
    kept_by_shell,
    written_for_python,
    written_for_shell,
)

_PLACE = re.compile(r"\$\{([a-z][a-z0-9_]*)\}")

_SHELL_TEXT = frozenset({"run", "command", "check", "rollback", "preconditions"})
"""The keys of a plan file whose values a shell reads."""

_CODE_TEXT = frozenset({"run", "command"})
"""The keys of a subtask of kind `code` whose values Python reads."""


class Reader(Enum):
    """Who reads a text."""

    PERSON = "person"
    SHELL = "shell"
    PYTHON = "python"


_WRITTEN: dict[Reader, Callable[[str], str]] = {
    Reader.PERSON: str,
    Reader.SHELL: written_for_shell,
    Reader.PYTHON: written_for_python,
}


@dataclass(frozen=True, slots=True)
class _DocumentText:
    """A text of a document, where it stands, and who reads it."""

    path: Path
    text: str
    reader: Reader


def fill(value: Any, parameters: Mapping[str, str], *, reader: Reader = Reader.PERSON) -> Any:
    """A document with the parameters filled in.

    Only lower-case names that are parameters are replaced: `${HOME}` stays the shell's own. For a
    shell the value is quoted, so it is always one word; in a Python snippet it is a string.
    `faults` says where that would fail.
    """
    match value:
        case str():
            written = _WRITTEN[reader]
            return _PLACE.sub(lambda found: _fill(found, parameters, written), value)
        case list():
            return [fill(item, parameters, reader=reader) for item in value]
        case dict():
            code = value.get("kind") == "code"
            return {
                key: fill(item, parameters, reader=_reader(key, reader, code=code))
                for key, item in value.items()
            }
    return value


def parameters_in(document: Any, names: Iterable[str]) -> set[str]:
    """Those of the names that are parameters of the document."""
    known = set(names)
    return {name for text in _texts(document) for name in _PLACE.findall(text.text)} & known


def faults(document: Any, names: Iterable[str]) -> list[str]:
    """What is wrong with the parameters of a document, the place of each fault first.

    A parameter inside quotes, a comment, backticks or a here-document is a fault, because its value
    could end these and become a command. So is a misspelt parameter, which a shell would take for
    an empty variable.
    """
    known = sorted(names)
    return [
        f"{spell_path(text.path)}: {fault}"
        for text in _texts(document)
        for fault in (*_misspelt(text, known), *_faults_of_place(text, known))
    ]


def _misspelt(text: _DocumentText, known: list[str]) -> Iterator[str]:
    for name in dict.fromkeys(_PLACE.findall(text.text)):
        near = [] if name in known else get_close_matches(name, known, n=1, cutoff=0.7)
        if near and re.search(rf"\b{name}=|\b(?:for|read)\b[^\n;]*\b{name}\b", text.text) is None:
            yield f"${{{name}}} is not a parameter; did you mean ${{{near[0]}}}?"


def _faults_of_place(text: _DocumentText, known: list[str]) -> Iterator[str]:
    if text.reader is Reader.PERSON:
        return
    placed = [name for name in _PLACE.findall(text.text) if name in known]
    if not placed:
        return
    values = [hostile(number) for number, _ in enumerate(placed)]
    left = iter(values)
    written = _WRITTEN[text.reader]
    tried = _PLACE.sub(lambda p: written(next(left)) if p[1] in known else p[0], text.text)
    kept_by = kept_by_shell if text.reader is Reader.SHELL else kept_by_python
    for name, kept in zip(placed, kept_by(tried, values), strict=True):
        if not kept:
            yield (
                f"${{{name}}} may not stand inside quotes, backticks, a comment, a here-document "
                "or a calculation; it is filled in with the quotes that its value needs"
            )


def _texts(value: Any, path: Path = (), reader: Reader = Reader.PERSON) -> Iterator[_DocumentText]:
    match value:
        case str():
            yield _DocumentText(path, value, reader)
        case list():
            for position, item in enumerate(value):
                yield from _texts(item, (*path, position), reader)
        case dict():
            code = value.get("kind") == "code"
            for key, item in value.items():
                yield from _texts(item, (*path, key), _reader(key, reader, code=code))


def _reader(key: str, around: Reader, *, code: bool) -> Reader:
    if code and key in _CODE_TEXT:
        return Reader.PYTHON
    return Reader.SHELL if key in _SHELL_TEXT else around


def _fill(
    found: re.Match[str], parameters: Mapping[str, str], written: Callable[[str], str]
) -> str:
    given = parameters.get(found[1])
    return found[0] if given is None else written(given)
