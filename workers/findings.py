"""What planners are told of the course of a run: what was found, and what people have answered."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, text

from shared.domain.plan import Step, Subtask
from shared.domain.question import PassReply, Reply
from shared.wire import from_json
from workers.planning import DoneStep

MOST_STEPS = 20
"""How many finished steps are told with what they found; the newest count."""

MOST_OF_ONE = 400
"""Characters of the output of one command, of which the end is kept."""

_FOUND = text("""
    SELECT step, command, right(stdout, :most) AS printed FROM (
        SELECT DISTINCT ON (step, subtask) id, step, command, stdout FROM attempts
        WHERE run_id = :run_id AND step = ANY(:steps) AND outcome = 'ok' AND NOT rollback
        ORDER BY step, subtask, id DESC
    ) AS newest
    WHERE stdout <> '' ORDER BY step, id
""")
_REPLIES = text("""
    SELECT body ->> 'question' AS question, body ->> 'answer' AS answer FROM events
    WHERE task_id = :task_id AND kind = 'QuestionAnswered'
      AND (run_id IS NULL OR run_id = :run_id)
    ORDER BY id
""")
_REPLIES_IN_STEP = text("""
    SELECT body ->> 'question' AS question, body ->> 'answer' AS answer,
           coalesce((body ->> 'revision')::bigint, 0) AS revision,
           coalesce((body ->> 'pass_no')::bigint, 0) AS pass_no
    FROM events
    WHERE task_id = :task_id AND run_id = :run_id AND kind = 'QuestionAnswered'
      AND (body ->> 'step')::bigint = :step
    ORDER BY id
""")
_CHANGE = text("""
    SELECT replaced.reason, bundles.evidence FROM run_steps AS replaced
    JOIN bundles ON bundles.run_id = replaced.run_id AND bundles.step = replaced.step
    WHERE replaced.run_id = :run_id AND replaced.phase = 'replaced' AND replaced.generation = (
        SELECT generation - 1 FROM run_steps WHERE run_id = :run_id AND step = :step
    )
    ORDER BY bundles.id DESC LIMIT 1
""")
_REPLACED = text("""
    SELECT lists.subtasks
    FROM run_steps
    JOIN runs ON runs.id = run_steps.run_id
    JOIN planned_steps planned
        ON planned.run_id = run_steps.run_id AND planned.step = run_steps.step
    CROSS JOIN LATERAL (
        SELECT 0 AS revision, planned.body -> 'subtasks' AS subtasks
        UNION ALL
        SELECT revision, subtasks FROM revisions
        WHERE revisions.run_id = run_steps.run_id AND revisions.step = run_steps.step
    ) lists
    WHERE run_steps.run_id = :run_id
      AND (run_steps.phase = 'replaced' OR run_steps.step = ANY(:going))
      AND coalesce(planned.body ->> 'repository', runs.target) = :place
    ORDER BY run_steps.generation DESC, (
        SELECT max(id) FROM attempts
        WHERE attempts.run_id = run_steps.run_id AND attempts.step = run_steps.step
    ) DESC NULLS LAST, run_steps.step, lists.revision DESC
""")


@dataclass(frozen=True, slots=True)
class PlanChange:
    """Why a step came into a plan, and the evidence for it; empty for a step of the first plan."""

    why: str = ""
    evidence: str = ""


def change_behind(connection: Connection, run_id: int, step: int) -> PlanChange:
    """The change of the plan that led to a step of a run."""
    row = connection.execute(_CHANGE, {"run_id": run_id, "step": step}).one_or_none()
    return PlanChange() if row is None else PlanChange(row.reason, row.evidence)


def replaced_subtasks(
    connection: Connection, run_id: int, place: str, going: Iterable[int]
) -> tuple[Subtask, ...]:
    """What was planned at that place in steps that are replaced, and in those that are `going`.

    The newest first: of the newest plan, of the step that was at work last, of its newest list.
    """
    chosen = {"run_id": run_id, "place": place, "going": list(going)}
    lists = connection.execute(_REPLACED, chosen).scalars()
    return tuple(from_json(Subtask, each) for subtasks in lists for each in subtasks or ())


def done_steps(connection: Connection, run_id: int, done: Iterable[Step]) -> tuple[DoneStep, ...]:
    """The finished steps of a run, each with what its commands printed, shortened."""
    steps = tuple(done)
    chosen = {
        "run_id": run_id,
        "steps": [step.ordinal for step in steps[-MOST_STEPS:]],
        "most": MOST_OF_ONE,
    }
    found: dict[int, list[str]] = {}
    for row in connection.execute(_FOUND, chosen):
        found.setdefault(row.step, []).append(f"$ {row.command}\n{row.printed.strip()}")
    return tuple(
        DoneStep(step.ordinal, step.title, "\n".join(found.get(step.ordinal, ()))) for step in steps
    )


def replies_of(connection: Connection, task_id: int, run_id: int) -> tuple[Reply, ...]:
    """Everything that people have answered for the task and this run of it, oldest first.

    Not what was answered in the runs of other targets: those questions may hold words of a host.
    """
    chosen = {"task_id": task_id, "run_id": run_id}
    return tuple(Reply(row.question, row.answer) for row in connection.execute(_REPLIES, chosen))


def replies_in_step(
    connection: Connection, task_id: int, run_id: int, step: int
) -> tuple[PassReply, ...]:
    """What people have answered to the questions of a step's passes in a run, oldest first."""
    chosen = {"task_id": task_id, "run_id": run_id, "step": step}
    return tuple(
        PassReply(row.revision, row.pass_no, Reply(row.question, row.answer))
        for row in connection.execute(_REPLIES_IN_STEP, chosen)
    )
