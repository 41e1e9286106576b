"""The lower part of a terminal, drawn anew at each look; what is said scrolls away above it."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final, Self

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

from orchestrator.cli.live_rows import Page
from orchestrator.cli.streams import as_written

_KEPT: Final = 200
"""What was said last and is shown again where a terminal has lost it."""

Draw = Callable[[Page], Sequence[Text]]
"""Makes the lines for a page; they must fit."""


def can_draw(console: Console) -> bool:
    """Whether somebody sees the output on a terminal that can move its cursor."""
    isatty = getattr(console.file, "isatty", None)
    on_terminal = isatty is not None and isatty()
    return on_terminal and console.is_terminal and not console.is_dumb_terminal


class LiveScreen:
    """Shows lines that are replaced, below lines that stay.

    While it is entered, keys are not echoed: they would move what is drawn.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said: deque[Text] = deque(maxlen=_KEPT)
        self._new: list[Text] = []
        self._drawn = 0
        self._size = (0, 0)
        self._beat = 0
        self._leaving = ExitStack()

    def __enter__(self) -> Self:
        self._leaving.enter_context(_quiet_keys())
        self._leaving.callback(self._console.show_cursor)
        self._console.show_cursor(False)
        return self

    def __exit__(self, *error: object) -> None:
        self._leaving.callback(self._erase)
        self._leaving.close()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Draw nothing and show keys as they are typed, for as long as it lasts."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def say(self, line: Text) -> None:
        """Let a line stay above, from the next frame on."""
        self._new.append(line)

    def show(self, draw: Draw) -> None:
        """Replace what was drawn."""
        width, height = self._console.size
        written = partial(as_written, stream=self._console.file)
        page = Page(width, max(1, height - 1), self._beat, written)
        self._beat += 1
        lines = draw(page)
        with self._console:
            if self._drawn and (width, height) != self._size:
                self._begin_again(width, height - 1 - len(lines))
            else:
                self._erase()
            self._say_new()
            for line in lines:
                self._console.print(line)
        self._drawn, self._size = len(lines), (width, height)

    def _say_new(self) -> None:
        for line in self._new:
            self._console.print(line)
        self._said += self._new
        self._new.clear()

    def _erase(self) -> None:
        """Remove what was drawn, and say what has not been said."""
        line = ((ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2))
        if self._drawn:
            up = Control(
                ControlType.CARRIAGE_RETURN, *(code for _ in range(self._drawn) for code in line)
            )
            self._console.control(up)
            self._drawn = 0
        self._say_new()

    def _begin_again(self, width: int, room: int) -> None:
        """Clear the terminal: it may have broken lines in two, or brought back older ones.

        What was said last is said again, as far as there is room.
        """
        self._console.control(Control(ControlType.CLEAR, ControlType.HOME))
        kept: list[Text] = []
        for line in reversed(self._said):
            room -= max(1, -(-line.cell_len // width))
            if room < 0:
                break
            kept.append(line)
        for line in reversed(kept):
            self._console.print(line)


@contextmanager
def _quiet_keys() -> Iterator[None]:
    """Keep the keys that are pressed from being shown; what was typed before is dropped."""
    import termios

    its = _terminal_in_front()
    if its is None:
        yield
        return
    before = termios.tcgetattr(its)
    quiet = [*before]
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(its, termios.TCSAFLUSH, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(its, termios.TCSADRAIN, before)


def can_ask() -> bool:
    """Whether somebody can type an answer."""
    return _terminal_in_front() is not None


def drop_typed_keys() -> None:
    """Forget what was typed before somebody was asked: it is no answer."""
    import termios

    its = _terminal_in_front()
    if its is not None:
        termios.tcflush(its, termios.TCIFLUSH)


def _terminal_in_front() -> int | None:
    """The number of standard input, if it is a terminal whose keys are this program's."""
    try:
        its = sys.stdin.fileno()
        return its if os.tcgetpgrp(its) == os.getpgrp() else None
    except (OSError, ValueError, AttributeError):
        return None
