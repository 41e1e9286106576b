"""Steps that are stuck: what the database says, what their host says, and what cures it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.core.state import StepState
from orchestrator.rows import step_state
from orchestrator.views.places import RunPlace
from orchestrator.views.values import RefValue
from shared.domain.found_on_host import CommandOnHost
from shared.domain.ids import Ref
from shared.domain.outcome import Outcome
from shared.domain.task import StepPhase
from shared.store import presence
from shared.store.attempts import RUNNING

_JOB = text(f"""
    SELECT id, kind, revision, pass_no, owner, presence, claims, lost_at IS NOT NULL AS lost,
           extract(epoch FROM lease_until - clock_timestamp())::float8 AS lease,
           extract(epoch FROM clock_timestamp() - heartbeat_at)::float8 AS heartbeat_age,
           presence IS NOT NULL
               AND NOT EXISTS (SELECT FROM {presence.SHOWN} WHERE number = jobs.presence) AS gone
    FROM jobs WHERE run_id = :run_id AND step = :step AND state = 'open'
    ORDER BY id DESC LIMIT 1
""")  # noqa: S608 - nothing but constants

_ATTEMPTS = text("""
    SELECT key, subtask, number, revision, pass_no, outcome FROM attempts
    WHERE run_id = :run_id AND step = :step AND NOT look ORDER BY id DESC LIMIT :most
""")

_STEP = text("SELECT * FROM run_steps WHERE run_id = :run_id AND step = :step")

_EXPIRED = text("""
    SELECT jobs.task_id, runs.target, jobs.step, jobs.owner,
           extract(epoch FROM clock_timestamp() - jobs.lease_until)::float8 AS seconds
    FROM jobs JOIN runs ON runs.id = jobs.run_id
    WHERE jobs.state = 'open' AND jobs.step IS NOT NULL
      AND jobs.lease_until < clock_timestamp() - make_interval(secs => :patience)
    ORDER BY jobs.id
""")
_UNREAD = text("""
    SELECT runs.task_id, runs.target, attempts.step, attempts.subtask, attempts.number
    FROM attempts JOIN runs ON runs.id = attempts.run_id
    WHERE attempts.outcome = 'running'
      AND attempts.started_at < clock_timestamp() - make_interval(secs => :patience)
      AND NOT EXISTS (
          SELECT FROM jobs WHERE jobs.run_id = attempts.run_id AND jobs.step = attempts.step
             AND (jobs.state = 'open' OR jobs.lease_until > clock_timestamp())
      )
    ORDER BY attempts.id
""")

MOST = 20
"""So many attempts of a step are looked at, the newest."""

_ENDED_BY_US = frozenset({Outcome.CANCELLED, Outcome.TIMED_OUT, Outcome.UNKNOWN})
"""Nothing of a command may run after these; after others, what it left behind is no error."""


class Trouble(StrEnum):
    """What is wrong with a step."""

    LEASE_EXPIRED = "lease_expired"  # its worker has stopped renewing its lease
    WORKER_GONE = "worker_gone"  # its worker has ended, and its lease has not
    CLAIMS_EXHAUSTED = "claims_exhausted"  # too many workers have vanished with its job
    FINISHED_UNREAD = (
        "finished_unread"  # its host says that a command has ended, nobody has read it
    )
    NOBODY_AT_IT = "nobody_at_it"  # an attempt runs by the database, and no job is there to end it
    STILL_RUNNING = "still_running"  # the database calls an attempt ended whose processes run
    UNFINISHED = "unfinished"  # its pass came to no end, and it waits
    LEFT_BEHIND = "left_behind"  # a command that has ended well has left processes: no error


class Cure(StrEnum):
    """What repairs it."""

    FREE_JOB = "free_job"  # another worker may take the job at once, and drives its pass on
    TAKE_JOB = "take_job"  # it is taken from its worker, which does not get on with it
    DRIVE_ON = "drive_on"  # the step goes on with its pass
    CLEAN_UP = "clean_up"  # a worker ends what a cancelled step left running
    END_PROCESSES = "end_processes"
    CLOSE_ATTEMPT = "close_attempt"  # how it ended is called unknown
    NOTHING = "nothing"


CURES: Mapping[Trouble, Cure] = {
    Trouble.LEASE_EXPIRED: Cure.FREE_JOB,
    Trouble.WORKER_GONE: Cure.FREE_JOB,
    Trouble.CLAIMS_EXHAUSTED: Cure.FREE_JOB,
    Trouble.FINISHED_UNREAD: Cure.TAKE_JOB,
    Trouble.NOBODY_AT_IT: Cure.CLOSE_ATTEMPT,
    Trouble.STILL_RUNNING: Cure.END_PROCESSES,
    Trouble.UNFINISHED: Cure.DRIVE_ON,
    Trouble.LEFT_BEHIND: Cure.NOTHING,
}
"""The cure of each trouble, unless the step is in another state than usual."""


@dataclass(frozen=True, slots=True)
class StuckFinding:
    """Something wrong with the step or the attempt `ref`, and its cure.

    `worker` has the job, `seconds` say for how long; `processes` run on the host, where a command
    has ended with `exit_code`; `key` is that of the attempt.
    """

    trouble: Trouble
    cure: Cure
    ref: RefValue
    worker: str | None = None
    seconds: float | None = None
    exit_code: int | None = None
    processes: tuple[str, ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True)
class HeldJob:
    """The open job of a step; `lease` is what remains of it (s), below 0 once it has run out."""

    id: int
    kind: str
    revision: int
    pass_no: int
    owner: str | None
    presence: int | None
    claims: int
    lost: bool
    lease: float | None
    heartbeat_age: float | None
    gone: bool

    @property
    def held(self) -> bool:
        """Whether a worker that is there has it."""
        return self.lease is not None and self.lease > 0 and not self.gone


@dataclass(frozen=True, slots=True)
class TriedCommand:
    """An attempt of a step, as the database has it."""

    key: str
    subtask: int
    number: int
    revision: int
    pass_no: int
    outcome: str


@dataclass(frozen=True, slots=True)
class StuckStep:
    """What the database knows of a step: its state, its open job, its newest attempts."""

    place: RunPlace
    token: str
    state: StepState
    job: HeldJob | None
    attempts: tuple[TriedCommand, ...]

    @property
    def ref(self) -> Ref:
        """The step as people name it."""
        return self.place.step(self.state.ordinal)

    @property
    def records(self) -> str:
        """What the names of its records on the host begin with."""
        return f"{self.token[:2]}/{self.token}-{self.state.ordinal}"

    def of(self, attempt: TriedCommand) -> Ref:
        """An attempt as people name it."""
        ref = self.ref
        return Ref(ref.task, ref.step, attempt.subtask, attempt.number, ref.target)


def stuck_step(connection: Connection, place: RunPlace, step: int, token: str) -> StuckStep:
    """What the database knows of a step that may be stuck."""
    at = {"run_id": place.run_id, "step": step}
    job = connection.execute(_JOB, at).mappings().one_or_none()
    tried = connection.execute(_ATTEMPTS, {**at, "most": MOST}).mappings()
    return StuckStep(
        place,
        token,
        step_state(connection.execute(_STEP, at).one()),
        None if job is None else HeldJob(**job),
        tuple(TriedCommand(**row) for row in tried),
    )


def stuck_places(connection: Connection, patience: float) -> Sequence[StuckFinding]:
    """What has been stuck for longer than `patience` seconds, as far as the database knows."""
    asked = {"patience": patience}
    expired = (
        StuckFinding(
            Trouble.LEASE_EXPIRED,
            Cure.FREE_JOB,
            Ref(row.task_id, row.step, target=row.target),
            worker=row.owner,
            seconds=row.seconds,
        )
        for row in connection.execute(_EXPIRED, asked)
    )
    unread = (
        StuckFinding(Trouble.NOBODY_AT_IT, Cure.CLOSE_ATTEMPT, _attempt(row))
        for row in connection.execute(_UNREAD, asked)
    )
    return [*expired, *unread]


def diagnose(
    step: StuckStep, commands: Sequence[CommandOnHost], *, max_claims: int
) -> tuple[StuckFinding, ...]:
    """What is wrong with a step, and what cures it; `commands` is what its host says. Pure."""
    on_host = {each.key: each for each in commands}
    found = [*_of_job(step, max_claims)]
    for attempt in step.attempts:
        if attempt.outcome == RUNNING:
            found += _of_running(step, attempt, on_host.get(attempt.key))
        elif attempt.key in on_host:
            found += _of_ended(step, attempt, on_host[attempt.key])
    waits = step.state.phase is StepPhase.WAITING or step.state.phase is StepPhase.ERROR
    if step.state.unfinished and waits:
        found.append(StuckFinding(Trouble.UNFINISHED, Cure.DRIVE_ON, step.ref))
    return tuple(found)


def _of_job(step: StuckStep, max_claims: int) -> Iterator[StuckFinding]:
    job = step.job
    if job is None or job.lease is None:
        return
    told: dict[str, Any] = {"worker": job.owner, "seconds": job.heartbeat_age}
    if job.lease <= 0:
        exhausted = job.claims >= max_claims
        trouble = Trouble.CLAIMS_EXHAUSTED if exhausted else Trouble.LEASE_EXPIRED
        yield StuckFinding(trouble, CURES[trouble], step.ref, **told)
    elif job.gone:
        yield StuckFinding(Trouble.WORKER_GONE, Cure.FREE_JOB, step.ref, **told)


def _of_running(
    step: StuckStep, attempt: TriedCommand, command: CommandOnHost | None
) -> Iterator[StuckFinding]:
    job, ref = step.job, step.of(attempt)
    ended = command is not None and command.ended
    told: dict[str, Any] = {"key": attempt.key}
    if command is not None:
        told |= {"exit_code": command.exit_code, "processes": command.processes}
    if job is not None and (job.revision, job.pass_no) == (attempt.revision, attempt.pass_no):
        if ended:
            cure = Cure.TAKE_JOB if job.held else Cure.FREE_JOB
            yield StuckFinding(Trouble.FINISHED_UNREAD, cure, ref, worker=job.owner, **told)
        return
    current = (step.state.revision, step.state.pass_no) == (attempt.revision, attempt.pass_no)
    if current and step.state.unfinished:
        return  # who drives the pass on finds it
    cancelled = step.state.phase is StepPhase.CANCELLED
    cure = Cure.CLEAN_UP if cancelled else Cure.CLOSE_ATTEMPT
    yield StuckFinding(Trouble.NOBODY_AT_IT, cure, ref, **told)


def _of_ended(
    step: StuckStep, attempt: TriedCommand, command: CommandOnHost
) -> Iterator[StuckFinding]:
    if not command.processes:
        return
    ref = step.of(attempt)
    told: dict[str, Any] = {
        "key": attempt.key,
        "processes": command.processes,
        "exit_code": command.exit_code,
    }
    if command.ended and attempt.outcome not in _ENDED_BY_US:
        yield StuckFinding(Trouble.LEFT_BEHIND, Cure.NOTHING, ref, **told)
    else:
        yield StuckFinding(Trouble.STILL_RUNNING, Cure.END_PROCESSES, ref, **told)


def _attempt(row: Any) -> Ref:
    return Ref(row.task_id, row.step, row.subtask, row.number, row.target)
