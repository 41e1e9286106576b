"""Looks: commands by which a planner sees something on a host before it answers."""

from dataclasses import dataclass

MOST_LOOKS = 8
"""Looks that a planner may ask for at once."""


@dataclass(frozen=True, slots=True)
class Look:
    """A command that can change nothing; `why` says what the planner wants to know.

    `host` names a target of the task. Empty, it is the host of the run, or else the task's first
    target.
    """

    command: str
    why: str = ""
    host: str = ""


@dataclass(frozen=True, slots=True)
class Looking:
    """How far a planning has looked: the rounds that it has asked for.

    `under_way` says that the last of them is being taken, and that the planner waits for it.
    """

    rounds: int = 0
    under_way: bool = False


NOT_LOOKED = Looking()
"""A planning that has just begun."""
