"""Checks of judgements that nobody awaits any more, and that still run on their host."""

from collections.abc import Collection
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic

from shared.domain.attempt import Attempt
from shared.domain.outcome import Outcome
from shared.secrets.masking import Masker
from shared.secrets.sent import variables_in
from shared.store import claims, looks
from shared.store.database import Database
from shared.store.looks import RunningLook
from workers.acceptances import JudgementPlace, judged_workspaces
from workers.agents.workspaces.workspaces import Workspaces
from workers.passes.outcomes import outcome_of
from workers.process.journal import Journal
from workers.process.leases import Hold
from workers.roles.executor import FENCES_A_JOB
from workers.secrets import mask_attempt
from workers.shells.ports import Call, Connections, KnownClaims, PassRecord
from workers.store import PassBrief

_PATIENCE = 60.0
"""Seconds within which a host ends a check."""


def judgement_record(
    database: Database, hold: Hold, place: JudgementPlace, token: str, age: float
) -> PassRecord:
    """What a judgement that began `age` seconds ago writes on the host, under the job in hand."""
    job = hold.job

    def known() -> KnownClaims:
        with database.autocommit() as connection:
            return KnownClaims(
                claims.known(connection, place.run_id, place.step),
                claims.settled(connection, place.run_id, place.step),
            )

    return PassRecord(
        name=place.record(token),
        fence=job.id * FENCES_A_JOB + job.fence,
        resumed=True,
        since=age,
        valid_for=lambda: hold.valid_until - monotonic(),
        given_up=lambda: hold.lost.is_set() or hold.given_up.is_set(),
        claim=job.token,
        claims=known,
    )


def drop_judged(workspaces: Workspaces, token: str, last: JudgementPlace) -> None:
    """Remove the workspaces of that judgement and of its step's earlier ones.

    Their commits are kept. An earlier one that was overtaken has left its workspace to us.
    """
    there = workspaces.attempts(judged_workspaces(token, last.step))
    workspaces.drop(*filter(last.has_done_with, there))


class LeftChecks:
    """Ends the checks of a step that belong to a judgement of an earlier turn."""

    def __init__(self, database: Database, journal: Journal, connections: Connections) -> None:
        self._database = database
        self._journal = journal
        self._connections = connections

    def end(
        self, hold: Hold, brief: PassBrief, masker: Masker, *, but: Collection[str] = ()
    ) -> None:
        """End all checks of the step that run, but those with these keys.

        Raises Transient if the host is unreachable or is lost on the way.
        """
        job = hold.job
        assert job.run_id is not None and job.step is not None  # noqa: S101, PT018 - of a step
        with self._database.autocommit() as connection:
            running = looks.running_at(connection, job.run_id, job.step)
        for look in running:
            place = JudgementPlace.of_key(look.key)
            if place is not None and look.key not in but:
                self._end(hold, brief, masker, look, place)

    def _end(
        self, hold: Hold, brief: PassBrief, masker: Masker, look: RunningLook, place: JudgementPlace
    ) -> None:
        age = max(0.0, (datetime.now(UTC) - look.started_at).total_seconds())
        record = judgement_record(self._database, hold, place, brief.token, age)
        with closing(self._connections.shell(brief.host, record, masker)) as shell:
            call = Call(look.command, _PATIENCE, key=look.key)
            result = shell.run(call, cancelled=lambda: True)
        if variables_in(look.command):
            hold.afterwards.append(shell.erase)
        outcome, reason = outcome_of(result, None)
        attempt = Attempt(
            key=look.key,
            run_id=place.run_id,
            step=place.step,
            revision=place.revision,
            subtask=0,
            pass_no=place.pass_no,
            try_no=0,
            number=look.number,
            command=look.command,
            outcome=Outcome.FAILED,
            started_at=look.started_at,
            ended_at=result.ended_at,
            look=True,
        )
        told = "; ".join(filter(None, (reason, "nobody awaits what it says any more")))
        ended = replace(attempt, outcome=outcome, reason=told, result=result)
        self._journal.end_attempt(hold.job, mask_attempt(ended, masker))
