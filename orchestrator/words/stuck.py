"""What is stuck and what cures it, in words."""

from orchestrator.views.stuck_steps import Cure, StuckFinding, Trouble
from orchestrator.words.workers import name_worker
from shared.domain.next_step import NextStep

_TROUBLES = {
    Trouble.LEASE_EXPIRED: "its worker no longer renews its lease",
    Trouble.WORKER_GONE: "its worker is gone, and its lease is not over",
    Trouble.CLAIMS_EXHAUSTED: "too many workers have vanished with its job",
    Trouble.FINISHED_UNREAD: "its host says that it has ended, and nobody has read that",
    Trouble.NOBODY_AT_IT: "it counts as running, and no worker is at it",
    Trouble.STILL_RUNNING: "it counts as ended, and runs on its host",
    Trouble.UNFINISHED: "its pass came to no end",
    Trouble.LEFT_BEHIND: "it has ended, and has left something running, which is no error",
}
_CURES = {
    Cure.FREE_JOB: "another worker takes its job and drives the pass on",
    Cure.TAKE_JOB: "its job is taken from that worker, and another one drives the pass on",
    Cure.DRIVE_ON: "its pass is driven on",
    Cure.CLEAN_UP: "a worker is sent to end what still runs",
    Cure.END_PROCESSES: "what still runs is ended",
    Cure.CLOSE_ATTEMPT: "what still runs is ended, and its outcome is called unknown",
    Cure.NOTHING: "nothing",
}


def describe_trouble(finding: StuckFinding) -> str:
    """What is wrong: `its worker no longer renews its lease (executor 7 on web-1; …)`."""
    details = [name_worker(finding.worker)] if finding.worker else []
    if finding.seconds is not None:
        details.append(f"last heard of {finding.seconds:.0f} s ago")
    if finding.exit_code is not None:
        details.append(f"exit code {finding.exit_code}")
    if finding.processes:
        details.append(f"running: {', '.join(finding.processes)}")
    told = f" ({'; '.join(details)})" if details else ""
    return f"{_TROUBLES[finding.trouble]}{told}"


def describe_cure(finding: StuckFinding) -> str:
    """What repairs it."""
    return _CURES[finding.cure]


def repair_of(finding: StuckFinding) -> NextStep:
    """The command that repairs it."""
    return NextStep.of("repair attempt", finding.ref, apply=True)
