"""A pass of a step as request to its executor and response (S3.13–S3.28)."""

from collections.abc import Mapping, Sequence

from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.attempts import AttemptLine
from orchestrator.views.interventions import InterventionView
from shared.contracts.exchange import (
    ExecutorRequest,
    ExecutorResponse,
    Status,
    request_of,
    validate_response,
)
from shared.domain.config import Policy
from shared.domain.outcome import GREEN, Outcome
from shared.domain.plan import Step, Subtask
from shared.domain.task import StepPhase

_AT_WORK = frozenset(
    {StepPhase.NOT_STARTED, StepPhase.DETAILING, StepPhase.READY, StepPhase.RUNNING}
)
_BLOCKED = frozenset({Outcome.DENIED, Outcome.NEEDS_APPROVAL})


def request(
    step: Step, subtasks: tuple[Subtask, ...], policy: Policy, *, ref: str, key: str, prompt: str
) -> ExecutorRequest:
    """The request to the executor of the latest pass; `key` is unique to that pass."""
    return request_of(step, subtasks, policy, ref=ref, corr_id=key, task=prompt)


def response(
    ref: str,
    phase: StepPhase,
    reason: str,
    *,
    attempts: Sequence[AttemptLine],
    subtasks: Sequence[Subtask],
    waiting: Sequence[InterventionView],
) -> ExecutorResponse | None:
    """How the latest pass ended, from the attempts of its revision; None while it is running."""
    if phase in _AT_WORK or not attempts:
        return None
    latest = {a.ref.subtask: a for a in attempts}
    done = sum(a.outcome in GREEN for a in latest.values())
    asked = [w.reason for w in waiting if w.kind == InterventionKind.QUESTION]
    return validate_response(
        ExecutorResponse(
            task_id=ref,
            status=_status(phase, latest, done, asked),
            summary=reason or f"{done} of {len(subtasks)} subtasks done",
            outputs=[
                {"subtask": number, "outcome": a.outcome, "exit_code": a.exit_code, "said": a.said}
                for number, a in latest.items()
            ],
            tool_calls=[
                {"ref": str(a.ref), "command": a.command, "outcome": a.outcome} for a in attempts
            ],
            next_questions=asked,
        )
    )


def _status(
    phase: StepPhase, latest: Mapping[int | None, AttemptLine], done: int, asked: list[str]
) -> Status:
    outcomes = {a.outcome for a in latest.values()}
    if phase is StepPhase.DONE:
        return "ok"
    if asked:
        return "needs_input"
    if phase is StepPhase.BLOCKED or outcomes & _BLOCKED:
        return "blocked"
    if Outcome.TIMED_OUT in outcomes:
        return "timeout"
    return "partial" if done else "error"
