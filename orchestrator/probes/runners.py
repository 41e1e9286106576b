"""Trying the runners of this machine through a worker process: the orchestrator starts none."""

from orchestrator.probes.worker import WorkerCall, ask_worker
from shared.domain.runner_report import RunnerReport
from shared.wire import from_json

PATIENCE = 90.0
"""Seconds that all trials together may take; they run at the same time."""


def try_runners() -> tuple[RunnerReport, ...]:
    """Try each known runner. Raises Transient."""
    wanted = WorkerCall(("try-runners",), "this machine", "runners", PATIENCE)
    return tuple(from_json(RunnerReport, each) for each in ask_worker(wanted)["reports"])
