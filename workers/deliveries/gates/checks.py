"""Gates about checks: files that decide what a repository's checks do.

A delivery that changes them is judged by rules of its own making, so a person looks at it first.
"""

import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from shared.domain.findings import Effect, Finding, GateRule
from workers.deliveries.changes import FileChange
from workers.deliveries.gates.values import GateInput

_DEFINED_IN: Final[Mapping[str, Collection[str]]] = {
    "make": ("makefile", "gnumakefile"),
    "gmake": ("makefile", "gnumakefile"),
    "just": ("justfile", ".justfile"),
    "task": ("taskfile.yml", "taskfile.yaml"),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "rake": ("rakefile",),
    "ant": ("build.xml",),
}
"""The files in which programs look up what they are to do, in lower case."""

_CHOOSING: Final = re.compile(
    r"\.?pytest\.ini|tox\.ini|(?:jest|vitest|playwright|cypress|karma)\.conf(?:ig)?\.\w+"
    r"|\.mocharc(?:\.\w+)?|phpunit\.xml(?:\.dist)?|\.rspec|nextest\.toml|\.nycrc(?:\.\w+)?"
)
"""Files that choose which tests run."""

_NOT_A_PATH: Final = re.compile(r"-.*|[\w]+=.*")


def find_changed_checks(given: GateInput) -> Iterator[Finding]:
    """Files that the checks name, that define them, or that choose the tests that they run."""
    named = {path: check for check in given.policy.checks for path in _paths_in(check)}
    defined = {name: check for check in given.policy.checks for name in _definitions(check)}
    for change in given.changes:
        folder, _, name = change.path.rpartition("/")
        known = named.get(change.path) or (None if folder else defined.get(name.casefold()))
        if known is not None:
            yield Finding(GateRule.CHECKS, Effect.PERSON, change.path, known)
        elif _CHOOSING.fullmatch(name.casefold()) or _chooses(given, change, name.casefold()):
            yield Finding(GateRule.CHECKS, Effect.PERSON, change.path)


def _paths_in(check: str) -> Iterator[str]:
    return (word.removeprefix("./") for word in _words(check) if not _NOT_A_PATH.fullmatch(word))


def _definitions(check: str) -> Iterator[str]:
    for word in _words(check):
        yield from _DEFINED_IN.get(word.rpartition("/")[2], ())


def _words(check: str) -> list[str]:
    try:
        lexer = shlex.shlex(check, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        return list(lexer)
    except ValueError:
        return check.split()


def _chooses(given: GateInput, change: FileChange, name: str) -> bool:
    """Whether the part of a file has changed that is about tests."""
    read = _PARTS.get(name)
    old, new = given.old(change), given.new(change)
    if read is None or old is None:
        return False
    return new is None or _part(read, old) != _part(read, new)


def _part(read: Callable[[str], Any], content: bytes) -> Any:
    try:
        return read(content.decode())
    except (ValueError, KeyError, AttributeError, configparser.Error, RecursionError):
        return content


def _pyproject(text: str) -> Any:
    tools = tomllib.loads(text).get("tool", {})
    return {name: tools.get(name) for name in ("pytest", "tox", "nox", "hatch", "poe", "coverage")}


def _package(text: str) -> Any:
    found = json.loads(text)
    return {name: found.get(name) for name in ("scripts", "jest", "mocha", "vitest", "ava", "nyc")}


def _setup(text: str) -> Any:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in ("tool:pytest", "coverage:run") if name in parser}


_PARTS: Final[Mapping[str, Callable[[str], Any]]] = {
    "pyproject.toml": _pyproject,
    "package.json": _package,
    "setup.cfg": _setup,
}
