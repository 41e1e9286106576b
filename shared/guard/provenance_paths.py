"""Paths as marks have them: absolute or from `~`, with `*` for what is not known."""

import re

from shared.guard.globs import Any, Token, intersect
from shared.guard.paths import canonical
from shared.guard.words import HOME, Glob, Hole, Text, Word, literal_word

_HOMES = re.compile(r"/root(?=/|$)|/home/[^/*]+(?=/|$)")
_WILD = re.compile(r"\*+|\?|\[[^\]]*\]?")
_ANY = Any(many=True)


def placed(word: Word | str, directory: Word) -> str:
    """The place that a word names in a working directory.

    The directory in which commands start is taken for the home directory, and so is that of any
    account: who wrote where counts, not under which name.
    """
    given = literal_word(word.replace("~", HOME, 1)) if isinstance(word, str) else word
    if isinstance(word, str) and not word.startswith("~"):
        given = literal_word(word)
    path = canonical(given, _directory(directory))
    texts = []
    for piece in path.pieces:
        match piece:
            case Text(value):
                texts.append(value)
            case Glob(pattern):
                texts.append(_WILD.sub("*", pattern))
            case Hole():
                texts.append("*")
    text = "".join(texts).replace(HOME, "~")
    if text == "." or text.startswith("./"):
        text = f"~{text[1:]}"
    return _HOMES.sub("~", text, count=1)


def _directory(directory: Word) -> Word:
    text = directory.literal
    if text is not None and text.startswith("~"):
        return literal_word(HOME + text[1:])
    return directory


def above(path: str) -> str:
    """The folder in which a path lies; `/` and `~` lie in themselves."""
    if path in ("/", "~", "*"):
        return path
    return path.rpartition("/")[0] or ("/" if path.startswith("/") else "*")


def folders_above(path: str) -> list[str]:
    """All folders in which a path lies, the nearest first."""
    found = []
    while (folder := above(path)) != path:
        found.append(folder)
        path = folder
    return found


def names_of_home(path: str) -> list[str]:
    """The paths from the home directory that an absolute one may be: of its every end."""
    if not path.startswith("/"):
        return []
    parts = path.split("/")[1:]
    return ["~/" + "/".join(parts[index:]) for index in range(len(parts))]


def names_from_start(path: str, start: str) -> list[str]:
    """Other names of a path where commands start in the folder `start`, which `~` may stand for.

    An empty `start` is not known, and gives no name.
    """
    if start in ("", "~"):
        return []
    names = []
    if path == start or path.startswith(f"{start.rstrip('/')}/"):
        names.append(f"~/{path[len(start) :].lstrip('/')}".rstrip("/"))
    if path == "~" or path.startswith("~/"):
        names.append(f"{start.rstrip('/')}{path[1:]}" or start)
    return names


def overlap(one: str, other: str) -> bool:
    """Whether two paths may be the same."""
    if "*" not in one and "*" not in other:
        return one == other
    return intersect(_tokens(one), _tokens(other))


def meet(one: str, other: str) -> bool:
    """Whether two paths may be the same, or one may lie in the other."""
    return _is_around(one, other) or _is_around(other, one)


def _is_around(folder: str, path: str) -> bool:
    """Whether a path may be that folder, or lie in it."""
    return any(overlap(folder, each) for each in (path, *folders_above(path)))


def _tokens(path: str) -> list[Token]:
    return [_ANY if character == "*" else character for character in path]
