"""Who serves, what each does, and what is wrong with it, in words."""

from datetime import datetime

from orchestrator.views.processes import Presence, ProcessLine, QueueLine
from orchestrator.views.serving_troubles import ServingFault, ServingTrouble
from orchestrator.words.quantities import count_of
from shared.domain.jobs import JobKind
from shared.domain.next_step import Advice, NextStep
from shared.domain.process_name import COORDINATOR, shorten_roles

_DOING = {
    JobKind.REFINE: "improves the prompt of",
    JobKind.PLAN: "plans",
    JobKind.DETAIL: "plans",
    JobKind.REVISE: "revises",
    JobKind.REPLAN: "replans",
    JobKind.EXECUTE: "runs",
    JobKind.GATHER: "gathers evidence about",
    JobKind.ADVISE: "judges",
    JobKind.LOOK: "looks around for",
    JobKind.CLEAN_UP: "cleans up after",
    JobKind.ACCEPT: "accepts",
    JobKind.REVIEW: "reviews",
    JobKind.CHECKPOINT: "publishes",
}


def name_roles(process: ProcessLine) -> str:
    """Its roles as one word, `unknown` if it does not tell them."""
    if process.roles is None:
        return "unknown"
    return COORDINATOR if process.roles == (COORDINATOR,) else shorten_roles(process.roles)


def describe_doing(process: ProcessLine) -> str:
    """What it does: `runs T12.2@web1 and 3 more`, `idle`, or that it is silent or gone."""
    first, *more = process.work or (None,)
    doing = "" if first is None else f"{_DOING[first.work]} {first.ref}"
    if more:
        doing += f" and {len(more)} more"
    match process.presence:
        case Presence.SILENT:
            return f"silent: {doing}" if doing else "silent"
        case Presence.GONE:
            return f"gone: {doing}"
        case _:
            return doing or ("decides" if process.roles == (COORDINATOR,) else "idle")


def describe_trouble_of(trouble: ServingTrouble, now: datetime, version: str) -> str:
    """What is wrong, and what it means; `version` is this program's."""
    process = trouble.process
    named = "" if process is None else f"{name_roles(process)} {process.name}"
    heard = None if process is None else process.heard_at
    ago = "" if heard is None else f" for {max(0.0, (now - heard).total_seconds()):.0f} s"
    match trouble.fault:
        case ServingFault.NO_COORDINATOR:
            return "no coordinator is running: nothing is decided, and no work is handed out"
        case ServingFault.NO_WORKER:
            return "no worker is running: nobody works"
        case ServingFault.UNSERVED:
            return f"no {trouble.role} is running{_waiting(trouble.queue)}"
        case ServingFault.SILENT:
            return (
                f"{named} is connected, and was not heard of{ago}: it or its machine stands still"
            )
        case ServingFault.GONE:
            return f"{named} is gone, and its jobs wait for a coordinator to free them"
        case ServingFault.OTHER_VERSION:
            other = "" if process is None else process.version
            return f"{named} is of version {other}, this program of {version}: restart it"


def cure_of(trouble: ServingTrouble) -> Advice:
    """The command to type next."""
    if trouble.role == COORDINATOR or trouble.fault is ServingFault.GONE:
        return NextStep.of("coordinator start")
    if trouble.fault in {ServingFault.NO_WORKER, ServingFault.UNSERVED}:
        return NextStep.of("worker start", trouble.role)
    return NextStep.of("worker list")


def _waiting(queue: QueueLine | None) -> str:
    """What lies on a queue that nobody serves."""
    if queue is None:
        return ""
    told = f": nobody serves queue {queue.queue}"
    if queue.waiting and queue.oldest is not None:
        jobs = count_of(queue.waiting, "job")
        told += f", where {jobs} waited, the oldest for {queue.oldest:.0f} s"
    if queue.messages:
        told += f"; unread messages: {queue.messages}"
    return told
