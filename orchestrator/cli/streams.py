"""Output that no encoding can break: what a stream has no sign for is written in others."""

import codecs
from typing import Final, TextIO

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
    "├": "+",
    "└": "+",
}


def make_lenient(*streams: TextIO) -> None:
    """Have streams write a sign that they have no code for as ASCII, instead of raising."""
    codecs.register_error(_HANDLER, _in_ascii)
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and getattr(stream, "errors", None) == "strict":
            reconfigure(errors=_HANDLER)


def can_write_all(stream: object) -> bool:
    """Whether the stream has a code for every character."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return codecs.lookup(encoding).name.startswith("utf")


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    told = "".join(
        _SIGNS.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in missing
    )
    return told, error.end
