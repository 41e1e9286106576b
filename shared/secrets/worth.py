"""Whether the text after `password=` is a password, or a word about one."""

import re

from shared.secrets.rule import Found

_STANDS_FOR = re.compile(
    rb"\$[\w({]|<[^>]*>$|%[\w({]|\{\{|\*{3}|[xX]{4}|\.{3}$|\[|\(|!vault$|@[\w.]+@$|#|!env\b"
    rb"|[A-Za-z_][\w.]*(?:\(|\[)|(?:os|process|env|self|request|config|var|settings|data)\."
)
"""A variable, a placeholder, stars or a call is not a value."""

_WORDS = frozenset(
    b"""
    true false yes no on off none null nil undefined never always required optional disabled enabled
    invalid incorrect wrong missing empty expired changed change failed failure denied rejected
    set unknown unchanged valid ok error prompt ask must is was are not for the and or to of in by
    unset default str string bytes int float bool any object secret password token redacted hidden
    scram-sha-256 md5 amd64 arm64 armhf i386 files compat systemd sss ldap winbind
    masked removed accepted authentication authorization reset updated created deleted rotated
    """.split()
)
_PATH = re.compile(rb"~?/?(?:[a-z0-9_.-]+/)+[a-zA-Z0-9_.-]*|/[a-z0-9_.-]+|[a-z]:\\", re.DOTALL)
_SMALL_NUMBER = re.compile(rb"\d{1,4}(?:\.\d+)?(?:[smhd]|ms|kb|mb|%)?", re.IGNORECASE)
_PLAIN_WORDS = re.compile(rb"[A-Za-z]?[a-z]*(?:[-_./:][a-z]+)*")
_NEXT_WORD = re.compile(rb"[,;.]? +[a-z]{2,}")
_TOKEN_LENGTH = 8
_GUESS_LENGTH = 6
_LONG = 24
_LETTER = re.compile(rb"[A-Za-z]")
_DIGIT_OR_SIGN = re.compile(rb"\d|[!@#$%^&*+=~]")
_MIXED = tuple(map(re.compile, (rb"\d", rb"[A-Z]", rb"[a-z]")))
_ADDRESS = re.compile(
    rb"v?\d+(?:\.\d+)+[\w.+~-]*|(?:\d{1,3}\.){3}\d{1,3}\S*|[\w+-]+://\S*|[\w.+-]+@[\w.-]+"
    rb"|[\w-]+(?:\.[\w-]+)+(?::\d+)?|[\w.-]+:\d+|[\w.-]+\(\S*|\d+[a-z]{1,3}|[A-Z][A-Z_]+\d?"
    rb"|[\w.-]+=[^=]\S*|[a-z_]+=|\*+[a-z_]+|[\w.+-]+@",
)
"""Versions, addresses, names with a number behind a colon, calls, settings."""


def is_password(found: Found) -> bool:
    """True unless it is a variable, a common word, a path, a small number or prose."""
    value = found["value"]
    if not _stands_for_itself(value):
        return False
    return not (_PLAIN_WORDS.fullmatch(value) and _goes_on_in_prose(found))


def is_pass(found: Found) -> bool:
    """The same after a bare `pass`, a word that tests also print when they succeed."""
    before = found.string[: found.start()][-1:]
    says_so = found[0].startswith(b"PASS") and before not in {b"_", b"-", b"."}
    return is_password(found) and not (says_so and _PLAIN_WORDS.fullmatch(found["value"]))


def is_no_word(found: Found) -> bool:
    """True for text that no sentence contains: it has a digit, a symbol or an inner capital."""
    words = (word.strip(b",.;:!?") for word in found["value"].split())
    return _stands_for_itself(found["value"]) and not all(map(_PLAIN_WORDS.fullmatch, words))


def is_token(found: Found) -> bool:
    """The same, with at least eight characters."""
    return len(found["value"]) >= _TOKEN_LENGTH and is_no_word(found)


def is_guess(found: Found) -> bool:
    """True for what nobody would write as a word: letters with digits or signs, six at least."""
    value = found["value"].strip(b"\"'`,.:;)]}")
    return (
        len(value) >= _GUESS_LENGTH
        and _LETTER.search(value) is not None
        and _DIGIT_OR_SIGN.search(value) is not None
        and _stands_for_itself(value)
        and not _ADDRESS.fullmatch(value)
    )


def is_strong_token(found: Found) -> bool:
    """The same where names stand as well: small and large letters with digits, or very long."""
    value = found["value"]
    mixed = all(kind.search(value) for kind in _MIXED)
    return (mixed or (len(value) >= _LONG and b"-" not in value)) and is_guess(found)


def _stands_for_itself(value: bytes) -> bool:
    bare = value.strip(b"\"'`,.:;)]}")
    return bool(
        bare
        and bare.lower() not in _WORDS
        and not _STANDS_FOR.match(bare)
        and not _PATH.fullmatch(bare)
        and not _SMALL_NUMBER.fullmatch(bare)
    )


def _goes_on_in_prose(found: Found) -> bool:
    """A blank before it and a word after it: a sentence, not `PASSWORD=abc command`."""
    before = found.string[found.start("value") - 1 : found.start("value")]
    return before.isspace() and _NEXT_WORD.match(found.string, found.end()) is not None
