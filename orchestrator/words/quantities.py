"""Numbers with their things, times of day, and texts cut short."""

from datetime import datetime


def count_of(number: int, thing: str) -> str:
    """A number of things: `1 step`, `2 steps`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def clock(at: datetime) -> str:
    """The local time of day."""
    return at.astimezone().strftime("%H:%M:%S")


def brief(text: str, length: int = 100) -> str:
    """The first line of a text, shortened to `length` characters."""
    first, _, rest = text.strip().partition("\n")
    cut = first if len(first) <= length else first[: length - 1]
    return cut if cut == first and not rest else f"{cut}…"
