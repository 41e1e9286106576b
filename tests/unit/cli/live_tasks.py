"""Tasks as somebody who watches sees them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from orchestrator.views.attempts import AttemptLine, OutputPiece
from orchestrator.views.failures import Failure
from orchestrator.views.interventions import InterventionView
from orchestrator.views.live import LiveTask, OpenJob, RunningAttempt
from orchestrator.views.steps import StepLine
from orchestrator.views.tasks import RunView, TaskView
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.ids import Ref
from shared.domain.outcome import Outcome
from shared.domain.plan import OnFailure, Recovery
from shared.domain.task import RunPhase, StepPhase, TaskPhase

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOW = BEGAN + timedelta(seconds=9)


@dataclass(frozen=True)
class Step:
    """A step: what runs in it, each with the lines it has written, and what failed."""

    title: str
    phase: StepPhase = StepPhase.RUNNING
    running: Sequence[tuple[str, str, Sequence[str]]] = ()
    failed: Sequence[tuple[str, str, str]] = ()
    reason: str = ""


def live(
    hosts: dict[str, Sequence[Step]],
    *,
    interventions: Sequence[InterventionView] = (),
    jobs: Sequence[OpenJob] = (),
    phase: TaskPhase = TaskPhase.RUNNING,
) -> LiveTask:
    """A task with these steps on each host, nine seconds after it began."""
    runs, running, failures = [], [], {}
    for run_id, (host, steps) in enumerate(hosts.items(), start=1):
        lines = []
        for ordinal, step in enumerate(steps, start=1):
            lines.append(_step(run_id, host, ordinal, step))
            running += [
                _running(Ref(7, ordinal, number, 1, host), *each)
                for number, each in enumerate(step.running, start=1)
            ]
            failures[run_id, ordinal] = tuple(
                _failure(Ref(7, ordinal, number, 1, host), *each)
                for number, each in enumerate(step.failed, start=1)
            )
        begun = any(line.phase is not StepPhase.NOT_STARTED for line in lines)
        ended = all(line.phase is StepPhase.DONE for line in lines)
        state = RunPhase.DONE if ended else RunPhase.RUNNING if begun else RunPhase.NOT_STARTED
        over = NOW if ended else None
        runs.append(
            RunView(Ref(7, target=host), run_id, host, state, "", BEGAN, over, tuple(lines))
        )
    task = TaskView(
        ref=Ref(7),
        phase=phase,
        reason="",
        prompt="set up the hosts",
        improved_prompt=None,
        plan_given=True,
        plan_summary="",
        steps_planned=1,
        policy=Policy(),
        created_at=BEGAN,
        ended_at=None,
        now=NOW,
        runs=tuple(runs),
        interventions=tuple(interventions),
    )
    begun_at = {(run.run_id, step.ordinal): BEGAN for run in runs for step in run.steps}
    return LiveTask(task, tuple(running), tuple(jobs), failures, begun_at)


def _step(run_id: int, host: str, ordinal: int, step: Step) -> StepLine:
    return StepLine(
        ref=Ref(7, ordinal, target=host),
        run_id=run_id,
        ordinal=ordinal,
        title=step.title,
        phase=step.phase,
        state="",
        author=Author(PlanningRole.PLANNER, "human"),
        revision=0,
        pass_no=1,
        errors=len(step.failed),
        threshold=4,
        done=1,
        subtasks=3,
        depends_on=(),
        recovery=Recovery.REPLAN,
        on_failure=OnFailure.STOP,
        reason=step.reason,
        changed_at=NOW,
    )


def _running(ref: Ref, title: str, command: str, output: Sequence[str]) -> RunningAttempt:
    attempt = AttemptLine(
        id=1,
        ref=ref,
        key=str(ref),
        revision=0,
        pass_no=1,
        retry_count=0,
        command=command,
        correction=None,
        outcome="running",
        counted=False,
        reason="",
        said="",
        exit_code=None,
        check_exit_code=None,
        started_at=BEGAN + timedelta(seconds=7),
        ended_at=None,
        seconds=None,
    )
    pieces = [OutputPiece(number, "stdout", f"{line}\n") for number, line in enumerate(output)]
    return RunningAttempt(attempt, title, tuple(pieces))


def _failure(ref: Ref, title: str, command: str, said: str) -> Failure:
    return Failure(ref, title, command, Outcome.FAILED, 100, None, said, "")
