"""Private keys in output: where one begins and ends, and which lines can belong to one."""

import re

TRIGGERS = (b"-----begin", b"-----end", b"---- begin", b"---- end")
"""What every line with a boundary contains, in lower case."""

BEGIN = re.compile(rb"-{4,5} ?BEGIN[A-Z0-9 ]{1,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
END = re.compile(rb"-{4,5} ?END[A-Z0-9 ]{1,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")

MOST_LINES = 200
"""How many lines before an end without a beginning are taken for the key: 12 KB."""

_FULL = re.compile(
    rb"(?:[^\r\n]{0,200}?[\s:|>\"'])?[A-Za-z0-9+/]{40,}={0,2}(?:\\[nr])*[\"',;\\]*\s*"
)
_SHORT = re.compile(
    rb"(?:[\s|>\"']*=?[A-Za-z0-9+/]{1,39}={0,2}"
    rb"|[^\r\n]{1,200}?[\s:|>\"'][A-Za-z0-9+/]{1,39}={1,2})(?:\\[nr])*[\"',;\\]*\s*"
)
_AROUND = re.compile(rb"\s*(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\r\n]*)?\s*")
_PURE = re.compile(rb"[ \t]*[A-Za-z0-9+/]{60,}={0,2}[ \t]*[\r\n]*")


def is_full(line: bytes) -> bool:
    """True for a line of a key: it is, or ends in, at least forty characters of base64."""
    return _FULL.fullmatch(line) is not None


def is_last(line: bytes) -> bool:
    """True for a possible last line of a key: a short line of base64."""
    return _SHORT.fullmatch(line) is not None


def is_around(line: bytes) -> bool:
    """True for a line that belongs to a key but holds none of it: blank, or a header field."""
    return _AROUND.fullmatch(line) is not None


def may_precede_an_end(line: bytes) -> bool:
    """True for a line of nothing but base64, as the middle of a key has them."""
    return _PURE.fullmatch(line) is not None


def is_checksum(line: bytes) -> bool:
    """True for the line that closes a PGP block."""
    return line.lstrip().startswith(b"=") and is_last(line)
