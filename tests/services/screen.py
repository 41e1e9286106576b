"""A terminal that is only lines: what somebody would see who looks at it."""

import re
from typing import Final

from rich.cells import cell_len

_PARTS: Final = re.compile(
    r"\x1b\[(?P<given>[0-9;?]*)(?P<verb>[A-Za-z])|(?P<control>[\r\n])|(?P<text>[^\x1b\r\n])",
    re.DOTALL,
)


class Screen:
    """Takes what a program writes, and keeps the lines that it would show.

    It knows the controls that replan uses, and fails on any other. `column` is the cursor's.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._lines = [""]
        self._row = 0
        self.column = 0
        self._rest = ""

    @property
    def lines(self) -> list[str]:
        """The lines on the screen, from the top, without the empty ones at the end."""
        shown = [line.rstrip() for line in self._lines[-self.height :]]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    def feed(self, written: str) -> None:
        """Show what was written; a control may come in pieces."""
        written, self._rest = self._rest + written, ""
        at = 0
        while at < len(written):
            part = _PARTS.match(written, at)
            if part is None:
                self._rest = written[at:]
                assert len(self._rest) < 16, f"not known: {self._rest!r}"
                return
            at = part.end()
            if part["verb"]:
                self._control(part["verb"], part["given"])
            elif part["control"] == "\r":
                self.column = 0
            elif part["control"] == "\n":
                self._line_feed()
            else:
                self._write(part["text"])

    def resize(self, width: int, height: int) -> None:
        """Break the lines that are too long now, as tmux and most terminals do."""
        broken: list[str] = []
        for number, line in enumerate(self._lines):
            pieces = [line[at : at + width] for at in range(0, len(line), width)] or [""]
            if number == self._row:
                row = len(broken) + min(self.column // width, len(pieces) - 1)
                self._row, self.column = row, self.column % width
            broken += pieces
        self._lines, self.width, self.height = broken, width, height

    @property
    def _top(self) -> int:
        return max(0, len(self._lines) - self.height)

    def _control(self, verb: str, given: str) -> None:
        match verb:
            case "m" | "h" | "l":
                pass  # colours, and the cursor
            case "A":
                self._row = max(self._top, self._row - int(given or 1))
            case "K" if given == "2":
                self._lines[self._row] = ""
            case "J" if given == "2":
                self._lines += [""] * (self._top + self.height - len(self._lines))
                for row in range(self._top, len(self._lines)):
                    self._lines[row] = ""
            case "H" if not given:
                self._row, self.column = self._top, 0
            case _:
                raise AssertionError(f"not known: {given!r} {verb!r}")

    def _write(self, sign: str) -> None:
        if self.column + cell_len(sign) > self.width:
            self.column = 0
            self._line_feed()
        line = self._lines[self._row].ljust(self.column)
        self._lines[self._row] = line[: self.column] + sign + line[self.column + 1 :]
        self.column += max(1, cell_len(sign))

    def _line_feed(self) -> None:
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append("")
