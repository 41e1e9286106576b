"""What a worker had seen of a check before it was lost is there for the next one."""

from dataclasses import replace
from datetime import UTC, datetime

from shared.domain.attempt import Attempt
from shared.domain.host import ConnectionKind, Host
from shared.domain.jobs import Job
from shared.domain.outcome import Outcome
from shared.store import attempts, hosts
from shared.store.attempts import AttemptWrite
from shared.store.database import Database
from tests.contract.store_under_test import claim_pass
from workers.store import pass_brief

NOW = datetime.now(UTC)


def begun(database: Database, job: Job, subtask: int, *, never_red: bool) -> str:
    """Record an attempt that has begun; its key."""
    key = f"R{job.run_id}-1-r0-{subtask}-p1-t0"
    place = (job.run_id or 0, 1, 0, subtask, 1, 0, 1)
    attempt = Attempt(key, *place, "true", Outcome.OK, NOW, NOW, never_red=never_red)
    with database.begin() as connection:
        attempts.record(connection, [AttemptWrite(job.claim, attempt, False, "worker")])
    return key


def test_the_next_worker_is_told_whose_check_was_red(database: Database) -> None:
    with database.begin() as connection:
        hosts.save(connection, Host("web1", connection=ConnectionKind.LOCAL), replace=False)
    job = claim_pass(database, "true")
    red = begun(database, job, 1, never_red=False)
    begun(database, job, 2, never_red=True)
    with database.begin() as connection:
        assert pass_brief(connection, job).began_red == frozenset(), "nobody was there before"
        assert pass_brief(connection, replace(job, fence=2)).began_red == {red}
