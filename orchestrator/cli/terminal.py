"""What reaches the terminal: text from hosts, models and people cannot control it."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from shared.domain.exits import ExitCode
from shared.visible import visible


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
