"""The scripts of replan's own that run on a host, and the fields that they print."""

import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from shared.domain.target import Repository
from workers.shells.remote.runner_text import path_word

_COMMENT = re.compile(r"^#.*|(?<=\(\) \{) # .*")
_ALL = ("folders",)

Fields = tuple[tuple[str, str], ...]
"""What a script printed: names and values in their order."""

Variables = Mapping[str, str | int | None]
"""The variables of a script; None is the empty text."""


def script(
    parts: tuple[str, ...],
    repository: Repository,
    root: str,
    call: tuple[str, ...],
    variables: Variables,
) -> str:
    """The text that calls one function of the scripts; no variable may be unset.

    A part is one of this package, or of another one: `workers.deliveries:line`.
    """
    place = f"place={path_word(root)}/{shlex.quote(repository.name)}"
    path = f"path={path_word(repository.path)}" if repository.path else "path="
    given = {"name": repository.name, **variables}
    words = (f"{name}={shlex.quote(_word(value))}" for name, value in given.items())
    return "\n".join(
        (" ".join((place, path, *words)), _text((*_ALL, *parts)), shlex.join(call) + "\n")
    )


def _word(value: str | int | None) -> str:
    return "" if value is None else str(value)


@cache
def _text(parts: tuple[str, ...]) -> str:
    lines = (
        _COMMENT.sub("", line.lstrip(" ")) for part in parts for line in _part(part).splitlines()
    )
    return "\n".join(line for line in lines if line)


def _part(part: str) -> str:
    package, _, name = part.rpartition(":")
    folder = files(package or "workers.agents.workspaces")
    return folder.joinpath(f"{name}.sh").read_text(encoding="utf-8")


def parse(output: bytes) -> Fields:
    r"""The fields; bytes that are not UTF-8 are written out, `\xff`."""
    return tuple(_fields(output))


def _fields(output: bytes) -> Iterator[tuple[str, str]]:
    # What follows the last NUL was cut off.
    for each in output.split(b"\0")[:-1]:
        name, mark, value = each.decode(errors="backslashreplace").partition("=")
        if mark:
            yield name, value


def values(fields: Fields, name: str) -> tuple[str, ...]:
    """The values of all fields of that name."""
    return tuple(value for found, value in fields if found == name)


def value(fields: Fields, name: str) -> str:
    """The value of the field of that name; empty if there is none."""
    return next((text for found, text in fields if found == name), "")
