"""Patterns of paths: which paths they name, and whether they may name any below a directory."""

import re
import sys
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from shared.guard.globs import Token, intersect, tokens_of_pattern, tokens_of_word
from shared.guard.words import HOME, Glob, Hole, Text, Word

_MOST_TOKENS = 4096
_NONE: Final = sys.maxsize
"""In the place of the number of a pattern: none names the path."""
_ANYTHING_BELOW: list[Token] = tokens_of_pattern("/*")


class PathPatterns:
    """Patterns in which `*` is any text, slashes included, and `~` in front is the home directory.

    Capital letters are the same as small ones. A pattern is *anchored* when it says where its paths
    lie (`/etc/shadow*`), and otherwise holds in any folder (`*/shadow`).
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._texts = tuple(_at_home(text).lower() for text in patterns)

    def naming(self, path: Word) -> str | None:
        """The first pattern that names the path, or may name it at run time; None for none."""
        literal = path.literal
        if literal is not None:
            return self._first_of(literal.lower())
        given = tokens_of_word(_small(path))
        if len(given) > _MOST_TOKENS:
            return "*"
        return self._meeting(given, anchored=False)

    def certainly_name(self, path: Word) -> bool:
        """Whether a pattern names the path, which is known completely."""
        literal = path.literal
        return literal is not None and self._first_of(literal.lower()) is not None

    def below(self, directory: Word) -> str | None:
        """The first anchored pattern that may name something in a directory, however deep."""
        given = [*tokens_of_word(_small(directory)), *_ANYTHING_BELOW]
        if directory.literal == "/":
            given = _ANYTHING_BELOW
        return self._meeting(given, anchored=True) if len(given) <= _MOST_TOKENS else "*"

    def _first_of(self, path: str) -> str | None:
        folder = self._by_folder.get(_folder(path))
        found = [folder.first(path)] if folder is not None else []
        if self._clue.search(path):
            found.append(self._rest.first(path))
        number = min(found, default=_NONE)
        return None if number == _NONE else _shown(self._texts[number])

    def _meeting(self, given: list[Token], *, anchored: bool) -> str | None:
        for text, tokens in self._tokens:
            if anchored and text.startswith("*"):
                continue
            if intersect(tokens, given):
                return _shown(text)
        return None

    @cached_property
    def _tokens(self) -> tuple[tuple[str, list[Token]], ...]:
        return tuple((text, tokens_of_pattern(text)) for text in self._texts)

    @cached_property
    def _by_folder(self) -> dict[str, "_Alternatives"]:
        """The patterns that hold in one folder of the root only, by that folder."""
        found: dict[str, list[tuple[int, str]]] = {}
        for number, text in enumerate(self._texts):
            if _in_one_folder(text):
                found.setdefault(_folder(text), []).append((number, text))
        return {folder: _Alternatives(texts) for folder, texts in found.items()}

    @cached_property
    def _rest(self) -> "_Alternatives":
        return _Alternatives(
            (number, text) for number, text in enumerate(self._texts) if not _in_one_folder(text)
        )

    @cached_property
    def _clue(self) -> re.Pattern[str]:
        """A text that each path has which one of the other patterns names: most have none."""
        clues = {_longest_text(text) for text in self._texts if not _in_one_folder(text)}
        names = sorted(clue[1:] for clue in clues if clue.startswith("/"))
        parts = sorted(clue for clue in clues if not clue.startswith("/"))
        # after a slash few need to be compared, and elsewhere only those of parts of a name
        ways = ([f"/(?:{'|'.join(names)})"] if names else []) + parts
        return re.compile("|".join(ways) or "(?!)", re.DOTALL)


class _Alternatives:
    """Patterns that are compared at once, with their numbers."""

    def __init__(self, numbered: Iterable[tuple[int, str]]) -> None:
        listed = list(numbered)
        self._numbers = [number for number, _ in listed]
        groups = (f"({_as_regex(text)})" for _, text in listed)
        self._regex = re.compile("|".join(groups) or "(?!)", re.DOTALL)

    def first(self, path: str) -> int:
        """The number of the first that names the path; _NONE for none."""
        found = self._regex.fullmatch(path)
        return _NONE if found is None else self._numbers[(found.lastindex or 1) - 1]


def _folder(path: str) -> str:
    """`/etc/` of `/etc/ssl/private`; empty for a path right below the root."""
    return path[: path.find("/", 1) + 1]


def _in_one_folder(pattern: str) -> bool:
    folder = _folder(pattern)
    return folder != "" and "*" not in folder


def _longest_text(pattern: str) -> str:
    """A regular expression for the longest part of a pattern that holds no `*`."""
    before, star, last = pattern.rpartition("*")
    longest = max(pattern.split("*"), key=len)
    ends = bool(star) and longest == last and longest not in before
    return re.escape(longest) + (r"\Z" if ends else "")


def _at_home(text: str) -> str:
    return HOME + text[1:] if text.startswith("~") else text


def _shown(text: str) -> str:
    return text.replace(HOME, "~")


def _as_regex(pattern: str) -> str:
    return "".join(".*" if sign == "*" else re.escape(sign) for sign in pattern)


def _small(word: Word) -> Word:
    pieces: list[Text | Glob | Hole] = []
    for piece in word.pieces:
        match piece:
            case Text(value, quoted):
                pieces.append(Text(value.lower(), quoted))
            case Glob(pattern):
                pieces.append(Glob(pattern.lower()))
            case Hole():
                pieces.append(piece)
    return Word(tuple(pieces))
