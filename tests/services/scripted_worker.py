"""A worker whose every word a test puts into its mouth, through the ports that real ones use."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from orchestrator import waiting_jobs
from shared.domain.attempt import Attempt, CommandResult, EndedBy
from shared.domain.budget import Ending
from shared.domain.facts import Fact, PassFinished
from shared.domain.ids import attempt_key
from shared.domain.jobs import Job, JobKind
from shared.domain.outcome import Outcome
from shared.store import attempts, inbox, jobs
from shared.store.attempts import AttemptWrite, OutputWrite
from shared.store.database import Database
from tests.services.ring import eventually


@dataclass(frozen=True, slots=True)
class ScriptedWorker:
    """Claims execution jobs and says of them what it is told to; a lease lasts `lease` seconds."""

    database: Database
    name: str = "scripted"
    lease: float = 600.0

    def takes(self) -> Job:
        """The next execution job that is due, as soon as there is one."""

        def claimed() -> Job | None:
            with self.database.begin() as connection:
                for waiting in waiting_jobs.waiting(connection, ring_again=0):
                    for job in jobs.claim(connection, [waiting.id], self.name, self.lease):
                        if job.kind is JobKind.EXECUTE:
                            return job
            return None

        found: Job = eventually(claimed, "a job for an executor")
        return found

    def begins(self, job: Job, command: str = "true", *, try_no: int = 0) -> Attempt:
        """A command of the first subtask begins."""
        assert job.run_id is not None
        assert job.step is not None
        now = datetime.now(UTC)
        key = attempt_key(job.run_id, job.step, job.revision, 1, job.pass_no, try_no)
        place = (job.run_id, job.step, job.revision, 1, job.pass_no, try_no, job.pass_no + try_no)
        attempt = Attempt(key, *place, command, Outcome.FAILED, now, now)
        self._record(job, attempt, ended=False)
        return attempt

    def prints(self, job: Job, attempt: Attempt, stream: str, line: bytes) -> None:
        """A running command writes something."""
        piece = OutputWrite(job.claim, attempt.key, stream, line)
        with self.database.begin() as connection:
            numbers = attempts.reserve_output(connection, 1)
            attempts.append_output(connection, numbers, [piece])

    def ends(
        self,
        job: Job,
        attempt: Attempt,
        outcome: Outcome,
        reason: str = "",
        *,
        printed: str = "",
        left_over: tuple[str, ...] = (),
    ) -> None:
        """A command ends, or nobody can say how."""
        now = datetime.now(UTC)
        result = CommandResult(
            attempt.command,
            exit_code=0 if outcome is Outcome.OK else None,
            stdout=printed.encode(),
            stderr=b"",
            started_at=attempt.started_at,
            ended_at=now,
            ended_by=EndedBy.CANCEL if outcome is Outcome.CANCELLED else None,
            left_over=left_over,
        )
        ended = replace(attempt, outcome=outcome, reason=reason, ended_at=now, result=result)
        self._record(job, ended, ended=True)

    def finishes(self, job: Job, ending: Ending, reason: str = "", *, errors: int = 0) -> bool:
        """The pass ends; returns whether the job was still its own."""
        assert job.step is not None
        fact = PassFinished(job.step, job.revision, job.pass_no, ending, errors, reason)
        return self.reports(job, fact)

    def reports(self, job: Job, fact: Fact) -> bool:
        """A job ends with a fact; returns whether it was still its own."""
        with self.database.begin() as connection:
            ours = jobs.finish(connection, [job.claim])
            inbox.send(connection, [(job.task_id, job.run_id, fact)] if ours else [])
        return bool(ours)

    def loses_sight(self, command: str = "true", *, printed: str = "") -> Job:
        """A whole pass: its command was started, and its runner was killed."""
        job = self.takes()
        attempt = self.begins(job, command)
        self.ends(job, attempt, Outcome.UNKNOWN, "its runner was killed", printed=printed)
        assert self.finishes(job, Ending.UNKNOWN, "its runner was killed", errors=1)
        return job

    def wanted_dead(self, job: Job) -> str | None:
        """What its heartbeat tells it: the attempt that an operator wants ended."""
        with self.database.begin() as connection:
            return jobs.renew(connection, [job.claim], self.lease)[job.id]

    def _record(self, job: Job, attempt: Attempt, *, ended: bool) -> None:
        entry = AttemptWrite(job.claim, attempt, ended=ended, worker=self.name)
        with self.database.begin() as connection:
            attempts.record(connection, [entry])
