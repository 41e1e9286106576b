"""The rows of the live view of a task, and how one is fitted into the width of a terminal."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from shared.visible import visible

_INDENT: Final = 2
_NARROW: Final = 40
"""Cells below which only the title is shown."""

_LEAST_BESIDE: Final = 12
"""Cells that are worth showing the beginning of a command in."""

_SPINNERS: Final = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")


class Sign(StrEnum):
    """What a row begins with."""

    NONE = ""
    AT_WORK = "at work"  # the spinner
    DONE = "✓"
    FAILED = "✗"
    ASKS = "!"
    OUTPUT = "│"
    FOLDED = "·"
    LEFT_OUT = "-"


def as_is(text: str) -> str:
    """What a terminal shows that can write every character."""
    return text


@dataclass(frozen=True, slots=True)
class Page:
    """The space that there is, in cells and lines; `beat` counts the frames.

    `written` says what becomes of a text on the terminal, which may lack some characters.
    """

    width: int
    height: int
    beat: int = 0
    written: Callable[[str], str] = as_is

    @property
    def spinner(self) -> str:
        """The sign of what is at work, in this frame."""
        signs = next(each for each in _SPINNERS if self.written(each) == each)
        return signs[self.beat % len(signs)]


@dataclass(frozen=True, slots=True)
class Row:
    """A row: a sign, a title, what stands beside it, and what stands at the right end.

    When there is not enough room, what is beside goes first; the title is cut last.
    """

    title: str
    sign: Sign = Sign.NONE
    style: str = ""
    title_style: str = ""
    beside: str = ""
    right: str = ""
    depth: int = 0

    def fit(self, page: Page) -> Text:
        """One line, of at most the width of the page."""
        sign = page.spinner if self.sign is Sign.AT_WORK else page.written(self.sign)
        start = " " * (_INDENT * self.depth)
        head = f"{start}{sign} " if sign else start
        right = _flat(self.right, page) if page.width >= _NARROW else ""
        if right and cell_len(head) + cell_len(right) + _LEAST_BESIDE > page.width:
            right = ""
        room = page.width - cell_len(head) - (cell_len(right) + 2 if right else 0)
        title = _cut(_flat(self.title, page), room, page)
        beside, left = _flat(self.beside, page), room - cell_len(title) - 2
        beside = _cut(beside, left, page) if left >= min(_LEAST_BESIDE, cell_len(beside)) else ""
        line = Text(no_wrap=True).append(head, self.style).append(title, self.title_style)
        if beside:
            line.append("  ").append(beside, "dim")
        if right:
            line.append(" " * (page.width - line.cell_len - cell_len(right))).append(right, "dim")
        if line.cell_len > page.width:
            line.truncate(page.width)
        return line


def _flat(text: str, page: Page) -> str:
    """A text as one line, as the terminal shows it."""
    return page.written(visible(" ".join(text.split())))


def _cut(text: str, room: int, page: Page) -> str:
    if cell_len(text) <= room:
        return text
    dots = page.written("…")
    left = room - cell_len(dots)
    return set_cell_size(text, left).rstrip() + dots if left > 0 else ""
