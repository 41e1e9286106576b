"""Postponed work in words."""

from datetime import datetime

from orchestrator.views.postponed import PutOff
from orchestrator.words.quantities import clock
from shared.domain.jobs import JobKind


def describe(each: PutOff) -> str:
    """Describe postponed work in words, with local times."""
    if each.work is JobKind.CHECKPOINT and each.provider:
        return describe_remote(each.reason, each.until)
    what = "waits for the provider" if each.provider else "is postponed"
    until = "and is being tried again" if each.until is None else f"until {clock(each.until)}"
    often = f"tried {each.times} time{'s' if each.times != 1 else ''}"
    return f"{each.work} {what} {until}, since {clock(each.since)} ({often}): {each.reason}"


def describe_remote(reason: str, until: datetime | None) -> str:
    """A remote that is away: why, and when it is tried again (`until`; None: it is now)."""
    when = "is being tried again now" if until is None else f"tried again at {clock(until)}"
    return f"the remote cannot be reached: {reason}; {when}"
