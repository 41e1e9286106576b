"""Text of a command or a path with nothing hidden in it."""


def visible(written: str) -> str:
    """A text with nothing hidden: characters that do not print are written as escapes."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode()
        for sign in written
    )


def shown_last(line: str) -> str:
    """What a line shows in the end: a progress bar writes over its own line."""
    return line.rstrip("\r").rpartition("\r")[2]


def visible_line(written: str) -> str:
    """The same in one line."""
    return visible(written).replace("\n", "\\n")
