"""What is drawn on a terminal again and again: it stays one picture, whatever happens to it."""

import io
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from orchestrator.cli.live_rows import Page
from orchestrator.cli.live_screen import LiveScreen, can_draw
from orchestrator.cli.terminal import Terminal
from tests.services.screen import Screen

ROWS = ["one is at work", "two is at work", "three " + "is at work " * 6]


def picture(count: int) -> Callable[[Page], Sequence[Text]]:
    """So many rows, each cut at the width of the page."""
    return lambda page: [Text(row[: page.width]) for row in ROWS[:count][: page.height]]


def test_what_is_said_stays_above_and_what_is_drawn_is_replaced() -> None:
    seen = Watched(80, 10)
    with LiveScreen(seen.console) as live:
        for said, rows in (("began", 3), ("failed", 1), ("", 2)):
            if said:
                live.say(Text(said))
            live.show(picture(rows))
            assert seen.lines()[-rows:] == [row.rstrip() for row in ROWS[:rows]]
        assert seen.lines() == ["began", "failed", *ROWS[:2]]
        live.say(Text("ended"))
    assert seen.lines() == ["began", "failed", "ended"]


def test_a_screen_that_is_full_scrolls_what_was_said() -> None:
    seen = Watched(80, 6)
    with LiveScreen(seen.console) as live:
        for number in range(20):
            live.say(Text(f"said {number}"))
            live.show(picture(3))
            assert len(seen.lines()) <= 6
        assert seen.lines() == ["said 18", "said 19", *[row.rstrip() for row in ROWS]]


def test_a_terminal_that_becomes_narrow_or_wide_shows_one_picture() -> None:
    seen = Watched(80, 12)
    with LiveScreen(seen.console) as live:
        for number in range(3):
            live.say(Text(f"said {number}"))
        for width, height in ((80, 12), (30, 12), (20, 8), (100, 12), (10, 5)):
            seen.resize(width, height)
            live.show(picture(3))
            drawn = [row[:width].rstrip() for row in ROWS]
            assert seen.lines()[-3:] == drawn
            assert sum(line in drawn for line in seen.lines()) == 3
            assert "said 2" in seen.lines() or height < 5


def test_nothing_is_drawn_where_nobody_sees_it() -> None:
    assert not can_draw(Terminal(file=io.StringIO(), force_terminal=True))
    assert can_draw(Terminal(file=Tty(), force_terminal=True, _environ={"TERM": "xterm"}))
    assert not can_draw(Terminal(file=Tty(), force_terminal=True, _environ={"TERM": "dumb"}))


class Tty(io.StringIO):
    """A file that is a terminal."""

    def isatty(self) -> bool:
        return True


class Watched:
    """A console, and the screen of whoever sees it."""

    def __init__(self, width: int, height: int) -> None:
        self._file = Tty()
        self._screen = Screen(width, height)
        self.console: Console = Terminal(
            file=self._file, force_terminal=True, soft_wrap=True, width=width, height=height
        )

    def lines(self) -> list[str]:
        """What is on the screen."""
        self._screen.feed(self._file.getvalue().replace("\n", "\r\n"))  # as terminals do
        self._file.seek(0)
        self._file.truncate()
        return self._screen.lines

    def resize(self, width: int, height: int) -> None:
        """Give the screen another size."""
        self.lines()
        self._screen.resize(width, height)
        self.console.size = (width, height)
