"""The fix memory in rows: stored, found again, measured by the result of each use, retired."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, text
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.domain.fix import FailurePattern, Fix, Proof, essence, wears_out
from shared.domain.host import scope_of
from shared.domain.plan import Subtask
from shared.store.fix_tables import FixProofRow, FixRow
from shared.store.storable_json import storable_json
from shared.wire import from_json, to_json


@dataclass(frozen=True, slots=True)
class StoredFix:
    """A stored fix and its record: `offered` counts its uses, `worked` and `failed` their results.

    `told` is the failure that it is for, `vague` and `cues` are those of the failure, `learnt_from`
    is the step that taught it. `proofs` are the steps that it put right under somebody's eye, and
    `recent` its results (worked, failed), both since it was last restored or edited.
    """

    id: int
    signature: str
    family: str
    told: tuple[str, ...]
    fix: Fix
    reason: str
    author: str
    learnt_from: str
    learnt: int
    created_at: datetime
    retired_at: datetime | None
    retired_because: str
    offered: int
    worked: int
    failed: int
    cues: tuple[str, ...] = ()
    vague: bool = False
    proofs: tuple[Proof, ...] = ()
    recent: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a finished revision teaches: what had failed before it, and what ran.

    `failures` are those of the earlier revisions, each with its subtasks; `ran` holds the numbers
    of this revision's subtasks that had something to do. `first` is the list of the first plan, and
    `scope` holds the labels of the host.
    """

    task_id: int
    target: str
    subtasks: tuple[Subtask, ...]
    reason: str
    author: str
    ran: frozenset[int]
    failures: tuple[tuple[FailurePattern, tuple[Subtask, ...]], ...]
    first: tuple[Subtask, ...] = ()
    scope: str = ""


_COUNTED = """
    SELECT fixes.*, count(uses.id) AS offered,
        count(*) FILTER (WHERE uses.worked) AS worked,
        count(*) FILTER (WHERE NOT uses.worked) AS failed,
        count(*) FILTER (WHERE uses.worked AND uses.settled_at >= fixes.counted_from)
            AS worked_since,
        count(*) FILTER (WHERE NOT uses.worked AND uses.settled_at >= fixes.counted_from)
            AS failed_since,
        (SELECT jsonb_agg(jsonb_build_object(
            'target', proofs.target, 'author', proofs.author, 'scope', proofs.scope)
            ORDER BY proofs.id)
         FROM fix_proofs AS proofs
         WHERE proofs.fix_id = fixes.id AND proofs.created_at >= fixes.counted_from) AS proofs
    FROM fixes LEFT JOIN fix_uses AS uses ON uses.fix_id = fixes.id
"""
_MATCHING = text(f"""
    {_COUNTED}
    WHERE fixes.signature = :signature AND fixes.family = :family AND fixes.retired_at IS NULL
    GROUP BY fixes.id
    ORDER BY count(*) FILTER (WHERE uses.worked) - count(*) FILTER (WHERE NOT uses.worked) DESC,
        fixes.id DESC
""")
_SIMILAR = text(f"""
    {_COUNTED}
    WHERE fixes.cues ?| CAST(:cues AS text[]) AND fixes.family = :family
      AND fixes.retired_at IS NULL
    GROUP BY fixes.id
    ORDER BY (SELECT count(*) FROM jsonb_array_elements_text(fixes.cues) AS cue
              WHERE cue = ANY(CAST(:cues AS text[]))) DESC,
        count(*) FILTER (WHERE uses.worked) DESC, fixes.id DESC
    LIMIT :limit
""")  # noqa: S608 - of our own texts
_LISTED = text(f"""
    {_COUNTED}
    WHERE (:every OR fixes.retired_at IS NULL)
      AND (CAST(:number AS bigint) IS NULL OR fixes.id = :number) AND fixes.id > :after
    GROUP BY fixes.id ORDER BY fixes.id LIMIT :limit
""")
_NOTE_USE = text("""
    INSERT INTO fix_uses (fix_id, task_id, run_id, step, revision)
    SELECT id, :task_id, :run_id, :step, :revision FROM fixes WHERE id = :fix_id
    ON CONFLICT DO NOTHING
""")  # an unknown fix number is not a reason to stop the coordinator
_SETTLE = text("""
    UPDATE fix_uses SET worked = :worked, settled_at = clock_timestamp()
    WHERE run_id = :run_id AND step = :step AND revision = :revision RETURNING fix_id
""")
_SINCE = text("""
    SELECT count(*) FILTER (WHERE uses.worked) AS worked,
        count(*) FILTER (WHERE NOT uses.worked) AS failed
    FROM fixes JOIN fix_uses AS uses
        ON uses.fix_id = fixes.id AND uses.settled_at >= fixes.counted_from
    WHERE fixes.id = :id
""")
_RETIRE = text("""
    UPDATE fixes SET retired_at = clock_timestamp(), retired_because = :because
    WHERE id = :id AND retired_at IS NULL RETURNING id
""")
_RESTORE = text("""
    UPDATE fixes SET retired_at = NULL, retired_because = '', counted_from = clock_timestamp()
    WHERE id = :id AND retired_at IS NOT NULL RETURNING id
""")
_EDIT = text("""
    UPDATE fixes SET replacement = CAST(:replacement AS jsonb), author = :author,
        digest = :digest, counted_from = clock_timestamp()
    WHERE id = :id
      AND NOT EXISTS (SELECT FROM fixes AS other WHERE other.digest = :digest AND other.id <> :id)
    RETURNING id
""")
_USED = text("""
    SELECT fix_id FROM fix_uses WHERE run_id = :run_id AND step = :step AND revision = :revision
""")

_DONE = (
    text("""
    SELECT runs.task_id, runs.target, revisions.subtasks, revisions.reason,
        (SELECT body -> 'subtasks' FROM planned_steps WHERE run_id = :run_id AND step = :step)
            AS first,
        (SELECT labels FROM hosts WHERE hosts.name = runs.target) AS labels,
        revisions.author_role || '/' || revisions.author_backend AS author,
        (SELECT jsonb_agg(DISTINCT attempts.subtask) FROM attempts
         WHERE attempts.run_id = :run_id AND attempts.step = :step
           AND attempts.revision = :revision AND attempts.outcome = 'ok'
           AND NOT attempts.rollback AND NOT attempts.look) AS ran
    FROM revisions JOIN runs ON runs.id = revisions.run_id
    WHERE revisions.run_id = :run_id AND revisions.step = :step AND revisions.revision = :revision
      AND revisions.rollback = '[]' AND revisions.dropped_checks = '[]'
""")
)  # one that undid something did not succeed by its list alone; one that proves less teaches less
_FAILED = text("""
    SELECT DISTINCT ON (bundles.revision) bundles.revision, bundles.failure, coalesce(
        revisions.subtasks,
        (SELECT body -> 'subtasks' FROM planned_steps WHERE run_id = :run_id AND step = :step),
        '[]') AS subtasks
    FROM bundles
    LEFT JOIN revisions ON revisions.run_id = bundles.run_id
        AND revisions.step = bundles.step AND revisions.revision = bundles.revision
    WHERE bundles.run_id = :run_id AND bundles.step = :step AND bundles.revision < :revision
      AND bundles.failure IS NOT NULL
    ORDER BY bundles.revision, bundles.id DESC
""")


def keep(
    connection: Connection, failure: FailurePattern, fix: Fix, lesson: Lesson, step: int
) -> None:
    """Store a fix; a known one is counted as learnt once more. Either way the step proves it."""
    statement = upsert(FixRow).values(
        signature=failure.signature,
        family=failure.family,
        told=list(failure.told),
        replaced=[to_json(subtask) for subtask in fix.replaced],
        replacement=[to_json(subtask) for subtask in fix.replacement],
        hosts=list(fix.hosts),
        words=list(fix.words),
        named=list(fix.named),
        cues=list(failure.cues),
        vague=failure.vague,
        step=fix.step,
        reason=lesson.reason,
        author=lesson.author,
        learnt_from=f"T{lesson.task_id}.{step}@{lesson.target}",
        digest=_digest(failure.signature, failure.family, fix),
    )
    number = connection.execute(
        statement.on_conflict_do_update(
            index_elements=["digest"], set_={"learnt": FixRow.learnt + 1}
        ).returning(FixRow.id)
    ).scalar_one()
    _prove(connection, number, lesson)


def count_learnt(connection: Connection, number: int, lesson: Lesson) -> None:
    """Count a fix as learnt once more, with other words, and proved by that step."""
    connection.execute(text("UPDATE fixes SET learnt = learnt + 1 WHERE id = :id"), {"id": number})
    _prove(connection, number, lesson)


def _prove(connection: Connection, number: int, lesson: Lesson) -> None:
    proof = {"target": lesson.target, "author": lesson.author, "scope": lesson.scope}
    connection.execute(insert(FixProofRow).values(fix_id=number, **proof))


def lesson(connection: Connection, run_id: int, step: int, revision: int) -> Lesson | None:
    """What a finished revision teaches; None if nothing had failed before it."""
    place = {"run_id": run_id, "step": step, "revision": revision}
    done = connection.execute(_DONE, place).one_or_none()
    if done is None:
        return None
    failed = connection.execute(_FAILED, place).all()
    if not failed:
        return None
    return Lesson(
        task_id=done.task_id,
        target=done.target,
        subtasks=_subtasks(done.subtasks),
        reason=done.reason,
        author=done.author,
        ran=frozenset(done.ran or ()),
        first=_subtasks(done.first or ()),
        scope=scope_of(done.labels or ()),
        failures=tuple(
            (from_json(FailurePattern, f.failure), _subtasks(f.subtasks)) for f in failed
        ),
    )


def matching(connection: Connection, failure: FailurePattern) -> tuple[StoredFix, ...]:
    """The fixes for a failure that are not retired, the most successful first."""
    asked = {"signature": failure.signature, "family": failure.family}
    return tuple(_fix_of_row(row) for row in connection.execute(_MATCHING, asked))


def similar(
    connection: Connection, failure: FailurePattern, *, limit: int
) -> tuple[StoredFix, ...]:
    """Fixes for failures with the same cause, line or program on hosts of that kind.

    Those with the most in common come first; retired ones are left out.
    """
    asked = {"cues": list(failure.cues), "family": failure.family, "limit": limit}
    return tuple(_fix_of_row(row) for row in connection.execute(_SIMILAR, asked))


def page(
    connection: Connection, *, limit: int, every: bool = False, after: int = 0
) -> tuple[StoredFix, ...]:
    """At most `limit` fixes by number, beginning after number `after`.

    With `every`, retired ones are included.
    """
    chosen = {"every": every, "number": None, "after": after, "limit": limit}
    return tuple(_fix_of_row(row) for row in connection.execute(_LISTED, chosen))


def find(connection: Connection, number: int) -> StoredFix | None:
    """The fix of that number."""
    chosen = {"every": True, "number": number, "after": 0, "limit": 1}
    row = connection.execute(_LISTED, chosen).one_or_none()
    return None if row is None else _fix_of_row(row)


def fix_of(connection: Connection, run_id: int, step: int, revision: int) -> int | None:
    """The number of the fix behind a revision; None if it does not come from a fix."""
    place = {"run_id": run_id, "step": step, "revision": revision}
    found: int | None = connection.execute(_USED, place).scalar()
    return found


def note_uses(connection: Connection, uses: Sequence[dict[str, Any]]) -> None:
    """Record that fixes were offered: each with `fix_id` and the revision that it became."""
    if uses:
        connection.execute(_NOTE_USE, list(uses))


def settle(connection: Connection, run_id: int, step: int, revision: int, *, worked: bool) -> bool:
    """Record the result of a revision that came from a fix, and retire a fix that fails too often.

    False if the revision does not come from a fix.
    """
    place = {"run_id": run_id, "step": step, "revision": revision}
    number = connection.execute(_SETTLE, {**place, "worked": worked}).scalar()
    if number is None:
        return False
    uses = connection.execute(_SINCE, {"id": number}).one()
    if not worked and wears_out(uses.worked, uses.failed):
        because = f"it worked {uses.worked} times and failed {uses.failed} times"
        retire(connection, number, because)
    return True


def retire(connection: Connection, number: int, because: str) -> bool:
    """Retire a fix; False if no fix of that number is in use."""
    return connection.execute(_RETIRE, {"id": number, "because": because}).first() is not None


def restore(connection: Connection, number: int) -> bool:
    """Offer a retired fix again and count its uses afresh; False if it is not retired."""
    return connection.execute(_RESTORE, {"id": number}).first() is not None


def edit(
    connection: Connection, known: StoredFix, replacement: Sequence[Subtask], *, author: str
) -> bool:
    """Replace the subtasks of a fix and count its uses afresh; False if an equal fix exists."""
    changed = replace(known.fix, replacement=tuple(replacement))
    given = {
        "id": known.id,
        "replacement": storable_json([to_json(subtask) for subtask in replacement]),
        "author": author,
        "digest": _digest(known.signature, known.family, changed),
    }
    return connection.execute(_EDIT, given).first() is not None


def _digest(signature: str, family: str, fix: Fix) -> str:
    said = [list(map(essence, fix.replaced)), list(map(essence, fix.replacement))]
    return hashlib.sha256(json.dumps([signature, family, said]).encode()).hexdigest()


def _fix_of_row(row: Any) -> StoredFix:
    return StoredFix(
        id=row.id,
        signature=row.signature,
        family=row.family,
        told=tuple(row.told),
        fix=Fix(
            _subtasks(row.replaced),
            _subtasks(row.replacement),
            tuple(row.hosts),
            words=tuple(row.words),
            named=tuple(row.named),
            step=row.step,
        ),
        reason=row.reason,
        author=row.author,
        learnt_from=row.learnt_from,
        learnt=row.learnt,
        created_at=row.created_at,
        retired_at=row.retired_at,
        retired_because=row.retired_because,
        offered=row.offered,
        worked=row.worked,
        failed=row.failed,
        cues=tuple(row.cues),
        vague=row.vague,
        proofs=tuple(Proof(**proof) for proof in row.proofs or ()),
        recent=(row.worked_since, row.failed_since),
    )


def _subtasks(data: Sequence[Any]) -> tuple[Subtask, ...]:
    return tuple(from_json(Subtask, subtask) for subtask in data)
