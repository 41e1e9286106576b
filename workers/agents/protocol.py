"""The protocol for agents that work without a person: one text, with a version (S4.16–S4.20)."""

from functools import cache
from importlib.resources import files
from typing import Final

VERSION: Final = 2
"""Grows with every change of the text."""

PLACEHOLDER: Final = "{TIME_BUDGET}"
"""What is replaced with the time budget in minutes (S4.18)."""

TASK: Final = "{TASK_ID}"
"""What is replaced with the name by which the handoff file must mention the work (S4.39)."""


@cache
def shipped_protocol() -> str:
    """The text that is used where a runner's settings name no other file."""
    return files("workers.agents").joinpath("protocol.md").read_text(encoding="utf-8")


def fill(text: str, time_budget: float, task: str = "") -> str:
    """A protocol with the time budget, given in seconds, in whole minutes, at least one.

    `task` is the name of the work.
    """
    return text.replace(PLACEHOLDER, str(max(1, round(time_budget / 60)))).replace(TASK, task)


def is_injected(*, autonomous: bool, enabled: bool, prepend_protocol: bool) -> bool:
    """Whether an agent gets the protocol (S4.16)."""
    return autonomous and enabled and prepend_protocol
