"""The error handler: gathers the evidence of a step into the bundle (S0.22, S0.48–S0.52)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

import structlog

from shared.domain.attempt import GREEN, Attempt
from shared.domain.bundle import Bundle, LoggedAttempt, LoggedSubtask
from shared.domain.config import Policy
from shared.domain.errors import ReplanError
from shared.domain.facts import BundleReady, Fact
from shared.domain.host import Host
from shared.domain.ids import Ref
from shared.domain.plan import Revision, Subtask
from shared.store import bundles
from shared.store.database import Database
from workers.executor.failed_assumptions import failed_assumptions
from workers.executor.hypotheses import hypotheses
from workers.fixes.recall import failure_to_learn_from
from workers.leases import Hold
from workers.store import StepBrief, step_brief

log = structlog.get_logger()

TakeSnapshot = Callable[[Host, Policy, Sequence[Subtask]], Mapping[str, str]]
"""Looks at the state of a host on which these ran; raises what a connection raises."""


class EscalationHandler:
    """Answers gathering jobs."""

    def __init__(self, database: Database, snapshot: TakeSnapshot) -> None:
        self._database = database
        self._snapshot = snapshot

    def perform(self, hold: Hold) -> Fact:
        """Build and keep the bundle of a step. A host that cannot be reached is part of it."""
        job = hold.job
        with self._database.begin() as connection:
            brief = step_brief(connection, job)
        bundle = compose(brief, self._look_at(brief))
        with self._database.begin() as connection:
            bundle_id = bundles.save(
                connection,
                brief.run_id,
                brief.step.ordinal,
                revision=job.revision,
                pass_no=job.pass_no,
                bundle=bundle,
                failure=failure_to_learn_from(brief, bundle),
            )
        return BundleReady(brief.step.ordinal, job.revision, job.pass_no, bundle_id)

    def _look_at(self, brief: StepBrief) -> Mapping[str, str]:
        try:
            return self._snapshot(brief.host, brief.task.policy, brief.revisions[-1].subtasks)
        except ReplanError as error:
            log.warning("snapshot_failed", stage=error.stage, reason=error.reason)
            return {"connection": f"no snapshot could be taken: {error.reason}"}


def compose(brief: StepBrief, snapshot: Mapping[str, str]) -> Bundle:
    """The bundle, from what the rows say and what the host shows."""
    newest = brief.revisions[-1]
    tried = tuple(a for a in brief.attempts if a.revision == newest.revision)
    place = Ref(brief.task.id, brief.step.ordinal, target=brief.host.name)
    return Bundle(
        task_ref=f"T{brief.task.id}",
        prompt=brief.task.prompt,
        improved_prompt=brief.task.improved_prompt,
        target=brief.host.name,
        step_ref=str(place),
        step_title=brief.step.title,
        step_instruction=brief.step.instruction,
        revision=newest.revision,
        reason=brief.reason,
        subtasks=tuple(_logged_subtask(s, tried) for s in newest.subtasks),
        attempts=tuple(_logged(a, place) for a in tried),
        earlier_revisions=tuple(_told(r) for r in brief.revisions[:-1]),
        snapshot=dict(snapshot),
        failed_assumptions=failed_assumptions(tried),
        hypotheses=hypotheses(tried),
        config=_settings(brief.task.policy),
    )


def _logged_subtask(subtask: Subtask, tried: tuple[Attempt, ...]) -> LoggedSubtask:
    outcomes = [a.outcome for a in tried if a.subtask == subtask.ordinal]
    status = outcomes[-1].value if outcomes else "not reached"
    return LoggedSubtask(
        ordinal=subtask.ordinal,
        key=subtask.key,
        title=subtask.title,
        command=subtask.command,
        check=subtask.check,
        timeout=subtask.timeout,
        preconditions=subtask.preconditions,
        needs=subtask.needs,
        status="done" if outcomes and outcomes[-1] in GREEN else status,
    )


def _logged(attempt: Attempt, place: Ref) -> LoggedAttempt:
    result, check = attempt.result, attempt.check
    ref = Ref(place.task, place.step, attempt.subtask, attempt.number, place.target)
    return LoggedAttempt(
        ref=str(ref),
        subtask=attempt.subtask,
        command=attempt.command,
        outcome=attempt.outcome.value,
        exit_code=None if result is None else result.exit_code,
        stdout="" if result is None else _text(result.stdout),
        stderr="" if result is None else _text(result.stderr),
        retry_count=attempt.try_no,
        started_at=attempt.started_at.isoformat(),
        ended_at=attempt.ended_at.isoformat(),
        correction=attempt.correction,
        reason=attempt.reason,
        check_command=None if check is None else check.command,
        check_exit_code=None if check is None else check.exit_code,
        check_output="" if check is None else _text(check.stdout + check.stderr),
    )


def _text(output: bytes) -> str:
    return output.decode(errors="backslashreplace")


def _told(revision: Revision) -> str:
    lines = [
        f"revision {revision.revision} by {revision.author.role}: {revision.reason}".rstrip(": ")
    ]
    lines += [f"  {subtask.command}" for subtask in revision.subtasks]
    return "\n".join(lines)


def _settings(policy: Policy) -> dict[str, str]:
    """S0.52, S0.68: what bounds the planner."""
    return {f.name: str(getattr(policy, f.name)) for f in fields(policy)}
