"""What is at work, in words."""

from datetime import datetime

from orchestrator.views.at_work import Awaited, LiveKind, LiveLine
from orchestrator.words.postponed import describe_remote
from orchestrator.words.quantities import clock
from orchestrator.words.workers import name_worker

_AWAITED = {
    Awaited.WORKER: "for a worker",
    Awaited.ACCEPTANCE: "to be accepted",
    Awaited.PERSON: "for a person",
}


def describe_wait(line: LiveLine) -> str:
    """What it waits for: `waits for step 2, 3`; empty if it is at work."""
    if line.awaits is None:
        return ""
    if line.awaits is Awaited.STEPS:
        needs = ", ".join(map(str, line.needs))
        return f"waits for step {needs}" if needs else "waits for its turn"
    if line.awaits is Awaited.REMOTE:
        return describe_remote(line.detail, line.until)
    if line.awaits is Awaited.TIME:
        when = "" if line.until is None else f" at {clock(line.until)}"
        return f"waits until it is tried again{when}"
    named = f" ({line.id})" if line.kind is LiveKind.INTERVENTION else ""
    return f"waits {_AWAITED[line.awaits]}{named}"


def describe_detail(line: LiveLine) -> str:
    """The first line of what else is known, unless what it waits for has said it."""
    return "" if line.awaits is Awaited.REMOTE else line.detail.partition("\n")[0]


def describe_lease(line: LiveLine, now: datetime) -> str:
    """Who has a job, and how fresh its heartbeat is; empty for everything else."""
    if line.kind is not LiveKind.JOB or line.lease_until is None:
        return ""
    parts = [name_worker(line.worker) if line.worker else "a worker"]
    if line.heartbeat_at is not None:
        age = max(0.0, (now - line.heartbeat_at).total_seconds())
        parts.append(f"heartbeat {age:.0f} s ago")
    left = (line.lease_until - now).total_seconds()
    told = f"lease for {left:.0f} s more" if left > 0 else f"lease ran out {-left:.0f} s ago"
    return ", ".join((*parts, told))
