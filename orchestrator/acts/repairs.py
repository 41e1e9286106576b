"""Repairing a step that is stuck: what is wrong, and what cures it (S2.61, S2.89)."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller, Writing
from orchestrator.acts.done import Done
from orchestrator.acts.post import post
from orchestrator.acts.verbs import act
from orchestrator.acts.watch import wait_until
from orchestrator.probes.repairs import look_at_commands
from orchestrator.views import named_runs
from orchestrator.views.attempts import attempt_view, live_output
from orchestrator.views.interventions import InterventionView, list_interventions
from orchestrator.views.places import require_step
from orchestrator.views.stuck_steps import (
    Cure,
    StuckFinding,
    StuckStep,
    Trouble,
    diagnose,
    stuck_step,
)
from orchestrator.views.values import NextStepValue, RefValue
from shared.domain.errors import ReplanError
from shared.domain.facts import CommandLeftRunning, ResumeRequested, WorkerLost
from shared.domain.found_on_host import CommandOnHost
from shared.domain.host import Host
from shared.domain.ids import Ref
from shared.domain.jobs import JobKind, LossSign
from shared.store import attempts, jobs, planned, targets
from shared.store.inbox import Report

_SECOND_LOOK = 1.0
"""Seconds for which a worker may come back, or read what has just ended."""

_TAIL = 2000
"""Characters of the end of an attempt's output."""

_FLEETING = frozenset({Trouble.WORKER_GONE, Trouble.FINISHED_UNREAD})
"""What may be over in a moment."""


@dataclass(frozen=True, slots=True)
class AttemptRepair:
    """What is wrong with a step, and whether the cures were `applied`.

    `tail` is the end of what its newest attempt wrote. If its host could not be asked,
    `unreachable` says why: then the findings are those of the database alone. `waiting` is what the
    step waits for a person with.
    """

    ref: RefValue
    findings: tuple[StuckFinding, ...]
    applied: bool
    tail: str = ""
    unreachable: str = ""
    next_step: NextStepValue = None
    waiting: tuple[InterventionView, ...] = ()


@dataclass(frozen=True, slots=True)
class _Examined:
    """A step, and what was found; `host` is where its commands run."""

    step: StuckStep
    host: Host
    findings: tuple[StuckFinding, ...]
    unreachable: ReplanError | None


def examine_attempt(caller: Caller, ref: Ref) -> AttemptRepair:
    """What is wrong with the step that a reference, which may be an attempt's, belongs to.

    Nothing is changed. Raises Rejected when there is no such step.
    """
    caller.may("repair.attempt")
    return _report(caller, ref, _examine(caller, ref), applied=False)


@act("repair.attempt")
def repair_attempt(caller: Caller, ref: Ref) -> Done[AttemptRepair]:
    """Cure everything that is wrong with a step, as far as it can be cured; see `CURES`.

    Raises Rejected when there is no such step, and what asking its host raises.
    """
    found = _examine(caller, ref)
    cures = [each for each in found.findings if each.cure is not Cure.NOTHING]
    if not cures:
        return Done(_report(caller, ref, found, applied=False))
    _end_processes(found, cures)
    step = found.step
    listed = {each.cure.value: str(each.ref) for each in cures}
    entry = Act("repair.attempt", str(step.ref), {"cures": listed})
    reports = list(_reports(step, cures))

    def write(connection: Writing) -> None:
        _write(connection, step, cures)

    if reports:
        taken = post(caller, entry, reports, also=write)
    else:
        taken = True
        with caller.database.begin() as connection:
            write(connection)
            audit.record(connection, caller.actor, entry)
    return Done(_report(caller, ref, found, applied=True), taken)


def _examine(caller: Caller, ref: Ref) -> _Examined:
    step, host = _look(caller, ref)
    most = caller.settings.server.max_claims
    commands: Sequence[CommandOnHost] = ()
    unreachable = None
    if step.attempts:
        try:
            keys = [attempt.key for attempt in step.attempts]
            commands = look_at_commands(host, step.records, keys)
        except ReplanError as error:
            unreachable = error
    findings = diagnose(step, commands, max_claims=most)
    if _FLEETING & {each.trouble for each in findings}:
        # A worker may be connecting again, or about to read what has ended.
        step = wait_until(
            lambda: _look(caller, ref)[0],
            lambda seen: (
                not _FLEETING & {each.trouble for each in diagnose(seen, commands, max_claims=most)}
            ),
            timeout=_SECOND_LOOK,
            tell=lambda *_: None,
        )
        findings = diagnose(step, commands, max_claims=most)
    return _Examined(step, host, findings, unreachable)


def _look(caller: Caller, ref: Ref) -> tuple[StuckStep, Host]:
    with caller.database.reading() as connection:
        place, ordinal = require_step(connection, Ref(ref.task, ref.step, target=ref.target))
        token = named_runs.token_of(connection, place.run_id)
        steps = planned.steps_of_runs(connection, [place.run_id], step=ordinal)
        name = targets.name_for(steps[place.run_id, ordinal], place.target)
        host = targets.reach(connection, name).host
        return stuck_step(connection, place, ordinal, token), host


def _end_processes(found: _Examined, cures: Sequence[StuckFinding]) -> None:
    ending = {Cure.END_PROCESSES, Cure.CLOSE_ATTEMPT}
    keys = [each.key for each in cures if each.cure in ending and each.processes and each.key]
    if keys:
        look_at_commands(found.host, found.step.records, keys, end=keys)


def _reports(step: StuckStep, cures: Sequence[StuckFinding]) -> Sequence[Report]:
    place, ordinal = step.place, step.state.ordinal
    wanted = {each.cure for each in cures}
    facts: list[WorkerLost | ResumeRequested | CommandLeftRunning] = []
    if wanted & {Cure.FREE_JOB, Cure.TAKE_JOB} and step.job is not None and step.job.owner:
        facts.append(_lost(step))
    if Cure.DRIVE_ON in wanted:
        facts.append(ResumeRequested(ordinal))
    if Cure.CLEAN_UP in wanted:
        keys = {each.key for each in cures if each.cure is Cure.CLEAN_UP}
        left = next(each for each in step.attempts if each.key in keys)
        facts.append(CommandLeftRunning(ordinal, left.revision, left.pass_no))
    return [(place.task_id, place.run_id, fact) for fact in facts]


def _lost(step: StuckStep) -> WorkerLost:
    job = step.job
    if job is None:
        raise AssertionError("no worker is lost without a job")
    name = (job.owner or "").partition("/")[0]
    sign = LossSign.PRESENCE if job.gone else LossSign.LEASE
    kind = JobKind(job.kind)
    return WorkerLost(kind, step.state.ordinal, job.revision, job.pass_no, name, sign)


def _write(connection: Writing, step: StuckStep, cures: Sequence[StuckFinding]) -> None:
    """What no coordinator decides: who has the job, and that an attempt is over."""
    wanted = {each.cure for each in cures}
    if step.job is not None and Cure.TAKE_JOB in wanted:
        jobs.take_away(connection, step.job.id)
    elif step.job is not None and Cure.FREE_JOB in wanted:
        anew = any(each.trouble is Trouble.CLAIMS_EXHAUSTED for each in cures)
        jobs.let_go(connection, step.job.id, anew=anew)
    closed = {each.key for each in cures if each.cure is Cure.CLOSE_ATTEMPT}
    for attempt in step.attempts:
        if attempt.key in closed:
            attempts.close(connection, step.place.run_id, step.state.ordinal, attempt.pass_no)


def _report(caller: Caller, ref: Ref, found: _Examined, *, applied: bool) -> AttemptRepair:
    step, failure = found.step, found.unreachable
    return AttemptRepair(
        step.ref,
        found.findings,
        applied=applied,
        tail=_tail(caller, ref, step),
        unreachable="" if failure is None else failure.reason,
        next_step=None if failure is None else failure.next_step,
        waiting=_waiting(caller, step.ref),
    )


def _waiting(caller: Caller, step: Ref) -> tuple[InterventionView, ...]:
    with caller.database.reading() as connection:
        found = list_interventions(connection, task_id=step.task)
    return tuple(each for each in found if each.ref == step)


def _tail(caller: Caller, ref: Ref, step: StuckStep) -> str:
    """The end of what the attempt wrote: the one that was named, or the newest of the step."""
    if not step.attempts:
        return ""
    chosen = step.of(step.attempts[0]) if ref.subtask is None else ref
    with caller.database.reading() as connection:
        view = attempt_view(connection, chosen.at(step.place.target))
        live = live_output(connection, view.attempt.key, 0)
    text = "".join(each.text for each in live) or view.stdout + view.stderr
    return text[-_TAIL:]
