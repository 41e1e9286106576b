"""Which files the commands of plans have brought to a host: what is remembered of each."""

from dataclasses import dataclass
from enum import StrEnum


class MarkKind(StrEnum):
    """How a file came to lie where it lies."""

    WRITTEN = "written"  # its content may be anything
    PACKED = "packed"  # an archive of what lies on the host
    COPIED = "copied"  # with all that is below it, from `target`
    BROUGHT = (
        "brought"  # all that is below it, of names that nobody has seen, from `target` if known
    )
    CHECKED_OUT = "checked_out"  # the same, by git, which brings no configuration of its own
    LINK = "link"  # it leads to `target`


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on a host at which a command may have left something.

    `path` and `target` are absolute, or begin with `~` for the home directory; `*` in them stands
    for any text.
    """

    kind: MarkKind
    path: str
    target: str = ""
