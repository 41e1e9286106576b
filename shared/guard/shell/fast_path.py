"""Commands so simple that their words are known without a parser."""

import re

_PLAIN = re.compile(
    r"[ \t]*"
    # a first word that is not an assignment, and behind it only words without any special character
    r"[A-Za-z0-9_./:@%+,-]+(?:[ \t]+[A-Za-z0-9_./:=@%+,-]+)*"
    r"[ \t]*"
)
_GRAMMAR = frozenset(
    [
        "case",
        "coproc",
        "declare",
        "do",
        "done",
        "elif",
        "else",
        "esac",
        "export",
        "fi",
        "for",
        "function",
        "if",
        "in",
        "let",
        "local",
        "nameref",
        "readonly",
        "select",
        "then",
        "time",
        "typeset",
        "until",
        "while",
    ]
)


_PATTERN = re.compile(r"[A-Za-z0-9_./:=@%+,*?~\[\]-]+")


def plain_patterns(words: list[str]) -> bool:
    """Check whether the words of an entry, which may hold patterns, mean what they look like."""
    if not words or words[0] in _GRAMMAR or "=" in words[0]:
        return False
    return all(map(_PATTERN.fullmatch, words))


def plain_words(text: str) -> list[str] | None:
    """The words of a command that every shell splits alike, or None when a parser must."""
    if _PLAIN.fullmatch(text) is None:
        return None
    words = text.split()
    return None if words[0] in _GRAMMAR else words
