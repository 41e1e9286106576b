"""Output that works in every encoding: characters that a stream lacks are replaced."""

import codecs
from typing import Final, TextIO

from shared.visible import can_write_all

_HANDLER: Final = "replan.signs"
_SIGNS: Final = {
    "✓": "ok",
    "✗": "x",
    "→": "->",
    "…": "...",
    "–": "-",
    "‹": "<",
    "›": ">",
    "─": "-",
    "│": "|",
    "·": ".",
    "├": "+",
    "└": "+",
}


def make_lenient(*streams: TextIO) -> None:
    """Make streams write characters that they cannot encode as ASCII instead of raising."""
    codecs.register_error(_HANDLER, _in_ascii)
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and getattr(stream, "errors", None) == "strict":
            reconfigure(errors=_HANDLER)


def as_written(text: str, stream: object) -> str:
    """What becomes of a text on a lenient stream."""
    if can_write_all(stream):
        return text
    encoding = getattr(stream, "encoding", None) or "utf-8"
    codecs.register_error(_HANDLER, _in_ascii)
    return text.encode(encoding, _HANDLER).decode(encoding)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    told = "".join(
        _SIGNS.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in missing
    )
    return told, error.end
