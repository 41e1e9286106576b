"""The folder that all own paths of a step have in common, as one variable of any depth; pure."""

import re
from collections.abc import Iterable

ROOT = "\ue001"
"""Stands for that folder in a text: a character that nobody writes."""

_SYSTEM = "etc|usr|bin|sbin|lib|lib32|lib64|libx32|proc|sys|dev|var|boot|run|snap|nix"
OWN_FOLDER = (
    r"(?:/(?:srv|opt|home|tmp|var/tmp|data|mnt|media|root|run/user|dev/shm)(?=/)|~|\ue001)"
    rf"|(?=/(?!(?:{_SYSTEM})(?![\w.-]))[\w.-]+/)"
)
"""Where everybody lays out things as they like: usual folders, and all that no system has."""

_BEFORE = r"(?<![\w.~/-])"
_REST = r"/[^\s'\"\\;&|<>()$`:,=]*"
OWN_PATH = re.compile(rf"{_BEFORE}(?:{OWN_FOLDER})(?P<rest>{_REST})")


_SHORTEST = 2
"""Components of a folder below the root of the file system: the empty one, and its name."""


def own_paths(text: str) -> tuple[str, ...]:
    """The paths in a text that lie in nobody's system folders."""
    return tuple(found[0].rstrip("./") for found in OWN_PATH.finditer(text))


def without_folders(text: str) -> str:
    """The text with every own path as `ROOT` and one name, whatever its depth."""
    return OWN_PATH.sub(f"{ROOT}/x", text)


def bases(old: Iterable[str], new: Iterable[str]) -> tuple[str, str] | None:
    """The two folders that stand for one another in two sets of texts; None if they are equal.

    They are the longest common folders of the own paths, without the end that both share.
    """
    one, other = _common(old), _common(new)
    if one is None or other is None or one == other:
        return None
    while min(len(one), len(other)) > _SHORTEST and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return "/".join(one), "/".join(other)


def rebase(text: str, base: str, other: str) -> str:
    """The text with that folder replaced wherever a path begins with it."""
    return re.sub(rf"{_BEFORE}{re.escape(base)}(?![\w.+~%-])", lambda _: other, text)


def is_above(path: str, base: str) -> bool:
    """Whether a path is that folder, or lies above it."""
    return base == path or base.startswith(f"{path.rstrip('/')}/")


def _common(texts: Iterable[str]) -> tuple[str, ...] | None:
    folders = [path.split("/")[:-1] for text in texts for path in own_paths(text)]
    if not folders:
        return None
    shortest = min(map(len, folders))
    same = 0
    while same < shortest and len({folder[same] for folder in folders}) == 1:
        same += 1
    found = tuple(folders[0][:same])
    return None if found in {(), ("",)} else found
