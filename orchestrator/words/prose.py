"""Text of others within Markdown: it shows as it is, and does nothing."""

import re

_ACTIVE = re.compile(r"[\\`*\[\]<&]")
"""What begins a link, an image, HTML, an entity, code or emphasis."""

_AT_THE_START = re.compile(r"^(?:[#>+=~|_-]|\d+[.)])")
"""What makes a line more than a paragraph: a heading, a quotation, a list, a table, a ruler."""


def prose(text: str) -> str:
    """The text on one line, in which nothing is Markdown, HTML or a link."""
    inert = _ACTIVE.sub(r"\\\g<0>", " ".join(text.split()))
    return _AT_THE_START.sub(_escaped, inert)


def _escaped(found: re.Match[str]) -> str:
    start = found[0]
    return f"{start[:-1]}\\{start[-1]}"


def code(text: str) -> str:
    """A code span that its text cannot end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(2, longest + 1)
    edge = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{edge}{text}{edge}{fence}"
