"""Postponed work in words."""

from orchestrator.views.postponed import PutOff
from orchestrator.words.quantities import clock


def describe(each: PutOff) -> str:
    """Describe postponed work in words, with local times."""
    what = "waits for the provider" if each.provider else "is postponed"
    until = "and is being tried again" if each.until is None else f"until {clock(each.until)}"
    often = f"tried {each.times} time{'s' if each.times != 1 else ''}"
    return f"{each.work} {what} {until}, since {clock(each.since)} ({often}): {each.reason}"
