"""What reaches the terminal: text from hosts, models and people cannot control it."""

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from shared.domain.exits import ExitCode

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f]"
)
r"""Control and format characters but `\n`, `\t` and those that join letters (U+200C, U+200D)."""


def visible(text: str) -> str:
    r"""The text with what moves, hides or reorders other text written out: `\u001b`.

    The form is that of JSON, so JSON stays the same value. `\r\n` becomes `\n`.
    """
    return _UNSAFE.sub(_written_out, text.replace("\r\n", "\n"))


def _written_out(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


class Terminal(Console):
    """A console whose every way of printing makes text `visible`; colours are its own."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(
            segment if segment.control else Segment(visible(segment.text), segment.style)
            for segment in buffer
        )

    def out(
        self,
        *objects: Any,
        sep: str = " ",
        end: str = "\n",
        style: str | Style | None = None,
        highlight: bool | None = None,
    ) -> None:
        """Print text as it is: no line is broken, no tab becomes spaces, no bracket is markup."""
        text = sep.join(map(str, objects))
        verbatim = Segments([Segment(f"{text}{end}")])
        self.print(verbatim, end="", style=style, highlight=highlight, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """End quietly: the reader has stopped reading."""
        with suppress(SystemExit):
            super().on_broken_pipe()
        raise SystemExit(ExitCode.DONE)
