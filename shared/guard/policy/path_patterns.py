"""Patterns of paths: which paths they name, and whether they may name any below a directory."""

import re
from collections.abc import Iterable
from functools import cached_property

from shared.guard.globs import Token, intersect, tokens_of_pattern, tokens_of_word
from shared.guard.words import HOME, Glob, Hole, Text, Word

_MOST_TOKENS = 4096
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
        if not self._regex.fullmatch(path):
            return None
        found = (text for text in self._texts if re.fullmatch(_as_regex(text), path, re.DOTALL))
        return _shown(next(found))

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
    def _regex(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_as_regex, self._texts)) or "(?!)", re.DOTALL)


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
