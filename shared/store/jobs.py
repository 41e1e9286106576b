"""The queue: jobs in rows, claimed with an owner, an expiry and a fence that grows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from shared.domain.errors import Transient
from shared.domain.jobs import SPARED, Claim, Job, JobKind
from shared.store.database import CANCELLED, DOORBELL, notify
from shared.store.sql_list import sql_list

_HELD_CLAIM = "jobs.tokens[cardinality(jobs.tokens)]"
"""The random token of a job's latest claim."""

_SAME_CLAIM = f"jobs.id = held.id AND jobs.fence = held.fence AND {_HELD_CLAIM} = held.token"
_CLAIMS = """unnest(
    CAST(:ids AS bigint[]), CAST(:fences AS bigint[]), CAST(:tokens AS text[])
) AS held(id, fence, token)"""

_RANDOM = "substr(replace(gen_random_uuid()::text, '-', ''), 1, 16)"
"""15 random hexadecimal digits, and one that is always 4."""

_COLUMNS = f"""
    id, kind, task_id, run_id, step, revision, pass_no, postponed, note, answer, fence, claims,
    cancel_attempt, looks, extract(epoch FROM clock_timestamp() - created_at)::float8 AS age,
    coalesce({_HELD_CLAIM}, '') AS token,
    (SELECT runs.target FROM runs WHERE runs.id = jobs.run_id) AS target
"""  # noqa: S608 - nothing but constants

_ENQUEUE = text("""
    INSERT INTO jobs
        (kind, queue, task_id, run_id, step, revision, pass_no, postponed, note, answer,
         looks, cancel_attempt, due_at, fence)
    VALUES (:kind, :queue, :task_id, :run_id, :step, :revision, :pass_no, :postponed, :note,
            :answer, :looks, CASE WHEN :postponed > 0 THEN
                (SELECT before.cancel_attempt FROM jobs before
                 WHERE before.run_id = :run_id AND before.step = :step AND before.kind = :kind
                   AND before.pass_no = :pass_no
                 ORDER BY before.id DESC LIMIT 1)
            END,
            clock_timestamp() + make_interval(secs => :delay), CAST(:driven_on AS int))
    ON CONFLICT (task_id, coalesce(run_id, 0), coalesce(step, 0), kind) WHERE state = 'open'
    DO UPDATE SET
        queue = excluded.queue, revision = excluded.revision, pass_no = excluded.pass_no,
        postponed = excluded.postponed, note = excluded.note, answer = excluded.answer,
        looks = excluded.looks,
        due_at = excluded.due_at, cancel_attempt = excluded.cancel_attempt,
        owner = NULL, lease_until = NULL, presence = NULL, lost_at = NULL, rung_at = NULL,
        claims = 0, fence = jobs.fence + 1
""")

_SPARED = sql_list(SPARED)

_CANCEL = text(f"""
    UPDATE jobs SET state = 'cancelled', ended_at = clock_timestamp()
    WHERE id IN (
        SELECT id FROM jobs
        WHERE task_id = :task_id AND state = 'open' AND kind NOT IN ({_SPARED})
          AND (CAST(:run_id AS bigint) IS NULL OR run_id = :run_id)
          AND (CAST(:step AS bigint) IS NULL OR step = :step)
        ORDER BY id FOR NO KEY UPDATE
    )
    RETURNING id, {_HELD_CLAIM} AS token
""")  # noqa: S608 - nothing but constants

_CANCEL_ATTEMPT = text(f"""
    UPDATE jobs SET cancel_attempt = attempts.key
    FROM attempts
    WHERE attempts.key = :key AND attempts.outcome = 'running'
      AND jobs.run_id = attempts.run_id AND jobs.step = attempts.step
      AND jobs.revision = attempts.revision AND jobs.pass_no = attempts.pass_no
      AND jobs.kind = 'execute' AND jobs.state = 'open'
    RETURNING jobs.id, {_HELD_CLAIM} AS token
""")  # noqa: S608 - nothing but constants

_CLAIM = text(f"""
    UPDATE jobs SET
        owner = :owner, lease_until = clock_timestamp() + make_interval(secs => :lease),
        presence = :presence, lost_at = NULL, heartbeat_at = clock_timestamp(), fence = fence + 1,
        tokens = CASE WHEN :again AND owner = :owner THEN tokens ELSE tokens || {_RANDOM} END,
        claims = claims + (NOT :again OR owner IS DISTINCT FROM :owner)::int,
        claimed_at = coalesce(claimed_at, clock_timestamp())
    WHERE id IN (
        SELECT id FROM jobs
        WHERE id = ANY(CAST(:ids AS bigint[])) AND state = 'open' AND due_at <= clock_timestamp()
          AND (CAST(:queues AS text[]) IS NULL OR queue = ANY(:queues))
          AND (lease_until IS NULL OR lease_until < clock_timestamp()
               OR (:again AND owner = :owner))
        ORDER BY id FOR NO KEY UPDATE
    )
    RETURNING {_COLUMNS}
""")  # noqa: S608 - nothing but constants

_RENEW = text(f"""
    WITH renewed AS (
        UPDATE jobs SET lease_until = clock_timestamp() + make_interval(secs => :lease),
            presence = :presence, lost_at = NULL, heartbeat_at = clock_timestamp()
        FROM {_CLAIMS}
        WHERE {_SAME_CLAIM}
          AND jobs.state IN ('open', 'cancelled')
          AND jobs.owner IS NOT NULL AND jobs.lease_until IS NOT NULL
        RETURNING jobs.id, jobs.cancel_attempt, jobs.state
    )
    SELECT id, cancel_attempt FROM renewed WHERE state = 'open'
""")  # noqa: S608 - nothing but constants

_WITHDRAWN = text(f"""
    SELECT jobs.id FROM jobs JOIN {_CLAIMS} ON {_SAME_CLAIM} WHERE jobs.state = 'cancelled'
""")  # noqa: S608 - nothing but constants

_RELEASE = text(f"""
    UPDATE jobs
    SET owner = NULL, lease_until = NULL, presence = NULL, rung_at = NULL,
        claims = greatest(jobs.claims - 1, 0)
    FROM {_CLAIMS}
    WHERE {_SAME_CLAIM} AND jobs.state = 'open' AND jobs.owner IS NOT NULL
    RETURNING jobs.id
""")  # noqa: S608 - nothing but constants

_FINISH = text(f"""
    UPDATE jobs SET
        state = CASE jobs.state WHEN 'open' THEN 'done' ELSE jobs.state END,
        lease_until = NULL,
        ended_at = CASE jobs.state WHEN 'open' THEN clock_timestamp() ELSE jobs.ended_at END
    FROM {_CLAIMS}
    WHERE {_SAME_CLAIM} AND jobs.state IN ('open', 'cancelled')
    RETURNING jobs.id, jobs.state = 'done' AS ours
""")  # noqa: S608 - nothing but constants

_SUPERSEDE = text("""
    UPDATE jobs SET state = 'done'
    WHERE run_id = :run_id AND step = :step AND pass_no = :pass_no
      AND kind = 'execute' AND state = 'cancelled'
""")

_HELD = text(f"""
    SELECT jobs.id FROM jobs JOIN {_CLAIMS} ON {_SAME_CLAIM} WHERE jobs.state = 'open'
""")  # noqa: S608 - nothing but constants

_CLAIMABLE = text("""
    SELECT id FROM jobs
    WHERE state = 'open' AND due_at <= clock_timestamp() AND queue = ANY(CAST(:queues AS text[]))
      AND (lease_until IS NULL OR lease_until < clock_timestamp())
    ORDER BY due_at, id LIMIT :limit
""")

_HASTEN = text("""
    UPDATE jobs SET due_at = clock_timestamp(), rung_at = NULL
    WHERE run_id = :run_id AND step = :step AND state = 'open' AND due_at > clock_timestamp()
    RETURNING id
""")

_LET_GO = text("""
    UPDATE jobs SET
        lost_at = clock_timestamp(), rung_at = NULL,
        claims = CASE WHEN :anew THEN 0 ELSE claims END
    WHERE id = :id AND state = 'open' AND owner IS NOT NULL
""")

_TAKE_AWAY = text("""
    UPDATE jobs SET owner = NULL, lease_until = NULL, presence = NULL, lost_at = NULL,
        rung_at = NULL, fence = fence + 1
    WHERE id = :id AND state = 'open'
""")

_WHOSE = text("SELECT task_id, run_id FROM jobs WHERE id = :id AND state = 'open'")

_EXHAUSTED = text(f"""
    UPDATE jobs SET state = 'done', fence = fence + 1, ended_at = clock_timestamp()
    WHERE id IN (
        SELECT id FROM jobs
        WHERE state = 'open' AND claims >= :most
          AND lease_until IS NOT NULL AND lease_until < clock_timestamp()
        ORDER BY id FOR NO KEY UPDATE
    )
    RETURNING {_COLUMNS}
""")  # noqa: S608 - nothing but constants


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job for a worker; `delay` is in seconds from now.

    `driven_on` says that an earlier job was for the same pass: its worker is not the first.
    `looks` are the rounds of looks that its planning has taken, or that it is to take.
    """

    kind: JobKind
    queue: str
    task_id: int
    run_id: int | None
    step: int | None
    revision: int
    pass_no: int
    postponed: int = 0
    note: str = ""
    answer: str | None = None
    delay: float = 0.0
    driven_on: bool = False
    looks: int = 0


def enqueue(connection: Connection, jobs: Sequence[NewJob]) -> None:
    """Open jobs; one that replaces an open job of its step invalidates that job's lease.

    A clean-up replaces the cancelled job of its pass: what a worker still says under that job's
    lease is not written any more.
    """
    if not jobs:
        return
    connection.execute(_ENQUEUE, [_fields(job) for job in jobs])
    for job in jobs:
        if job.kind is JobKind.CLEAN_UP:
            place = {"run_id": job.run_id, "step": job.step, "pass_no": job.pass_no}
            connection.execute(_SUPERSEDE, place)
    notify(connection, DOORBELL)


def cancel(
    connection: Connection, task_id: int, run_id: int | None = None, step: int | None = None
) -> None:
    """Cancel the open jobs of a task, run or step and tell the workers that hold them.

    Those of the kinds `SPARED` stay open. A worker that holds a cancelled job may still record how
    its command ended, under its fence.
    """
    chosen = {"task_id": task_id, "run_id": run_id, "step": step}
    for job_id, token in connection.execute(_CANCEL, chosen).all():
        if token is not None:
            notify(connection, CANCELLED, f"{job_id} {token}")


def cancel_attempt(connection: Connection, key: str) -> None:
    """Cancel the running attempt with that key, and tell the worker that runs it at the commit.

    The row of its job keeps the request until the pass is over, so whoever resumes the pass sees
    it, too. Nothing is written if the attempt does not run or its job is not open.
    """
    for job_id, token in connection.execute(_CANCEL_ATTEMPT, {"key": key}).all():
        notify(connection, CANCELLED, f"{job_id} {token} {key}")


def claim(
    connection: Connection,
    job_ids: Sequence[int],
    owner: str,
    lease: float,
    queues: Sequence[str] | None = None,
    *,
    again: bool = False,
    presence: int | None = None,
) -> list[Job]:
    """Claim those of the jobs that are due and free for `lease` seconds.

    With `queues`, jobs of other queues are not claimed: a forged message could name them. Pass
    `again` if the commit of an earlier claim by the same `owner` is in doubt; both then count as
    one claim. No other claim may use that `owner`. `presence` is the number of the lock that the
    worker holds, None if it holds none: then only the end of the lease shows that it was lost.
    """
    values = {
        "ids": list(job_ids),
        "owner": owner,
        "lease": lease,
        "queues": None if queues is None else list(queues),
        "again": again,
        "presence": presence,
    }
    return [_job(row) for row in connection.execute(_CLAIM, values).mappings()]


def renew(
    connection: Connection, held: Sequence[Claim], lease: float, presence: int | None = None
) -> dict[int, str | None]:
    """Renew the leases of claims to `lease` seconds from now.

    Returns the ids that are still ours, each with the key of the attempt to cancel, if any. The
    lease of a cancelled job is renewed, too: its worker still has to report how its commands ended.
    """
    if not held:
        return {}
    kept = connection.execute(_RENEW, {**_columns(held), "lease": lease, "presence": presence})
    return {row.id: row.cancel_attempt for row in kept}


def withdrawn(connection: Connection, held: Sequence[Claim]) -> set[int]:
    """The ids of those jobs that were cancelled under these claims."""
    if not held:
        return set()
    return set(connection.execute(_WITHDRAWN, _columns(held)).scalars())


def release(connection: Connection, held: Sequence[Claim]) -> set[int]:
    """Release the unfinished jobs of these claims, so that anyone can claim them at once.

    Returns the ids that were still ours; the claim does not count as a vanished worker's.
    """
    if not held:
        return set()
    given = set(connection.execute(_RELEASE, _columns(held)).scalars())
    if given:
        notify(connection, DOORBELL)
    return given


def finish(connection: Connection, held: Sequence[Claim]) -> set[int]:
    """End the jobs of these claims; returns the ids that were still ours.

    A job that was cancelled meanwhile is only released: its row then shows that nobody holds it.
    """
    if not held:
        return set()
    return {row.id for row in connection.execute(_FINISH, _columns(held)) if row.ours}


def held_ids(connection: Connection, held: Sequence[Claim]) -> set[int]:
    """The ids of the jobs of these claims that are open and still ours."""
    if not held:
        return set()
    return set(connection.execute(_HELD, _columns(held)).scalars())


def require_held(connection: Connection, claim: Claim, stage: str) -> None:
    """Raise Transient unless the job is open and still ours: what follows names it by number."""
    if not held_ids(connection, [claim]):
        raise Transient("another worker has the job now", stage=stage)


def claimable(connection: Connection, queues: Sequence[str], limit: int) -> list[int]:
    """At most `limit` due and free jobs of these queues, rung for or not, oldest first."""
    found = connection.execute(_CLAIMABLE, {"queues": list(queues), "limit": limit})
    return list(found.scalars())


def hasten(connection: Connection, run_id: int, step: int) -> bool:
    """Let a postponed job of a step be due now; False if there is none."""
    found = connection.execute(_HASTEN, {"run_id": run_id, "step": step}).first() is not None
    if found:
        notify(connection, DOORBELL)
    return found


def let_go(connection: Connection, job_id: int, *, anew: bool = False) -> None:
    """Note that the worker of an open job is lost, and ring for the job.

    It is free once its lease is over or a coordinator has ended that. With `anew`, the workers that
    have vanished with it are forgotten.
    """
    connection.execute(_LET_GO, {"id": job_id, "anew": anew})
    notify(connection, DOORBELL)


def take_away(connection: Connection, job_id: int) -> None:
    """Take an open job from its worker, which cannot write under its claim any more."""
    connection.execute(_TAKE_AWAY, {"id": job_id})
    notify(connection, DOORBELL)


def whose(connection: Connection, job_id: int) -> tuple[int, int | None] | None:
    """The task and the run (if any) that an open job works for; None when no such job is open."""
    row = connection.execute(_WHOSE, {"id": job_id}).one_or_none()
    return None if row is None else (row.task_id, row.run_id)


def close_exhausted(connection: Connection, most: int) -> list[Job]:
    """End the jobs whose lease ran out after `most` claims: they kill whoever takes them."""
    return [_job(row) for row in connection.execute(_EXHAUSTED, {"most": most}).mappings()]


def _fields(job: NewJob) -> dict[str, Any]:
    return {
        "kind": job.kind.value,
        "queue": job.queue,
        "task_id": job.task_id,
        "run_id": job.run_id,
        "step": job.step,
        "revision": job.revision,
        "pass_no": job.pass_no,
        "postponed": job.postponed,
        "note": job.note,
        "answer": job.answer,
        "delay": job.delay,
        "driven_on": job.driven_on,
        "looks": job.looks,
    }


def _columns(held: Sequence[Claim]) -> dict[str, Any]:
    return {
        "ids": [claim.job for claim in held],
        "fences": [claim.fence for claim in held],
        "tokens": [claim.token for claim in held],
    }


def _job(row: Any) -> Job:
    return Job(**{**row, "kind": JobKind(row["kind"])})
