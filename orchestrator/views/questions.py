"""Questions to people, and their answers (S3.11, S3.28, S3.57)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from orchestrator.views.approvals import GivenAnswer
from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.next_step import Advice, Blank, NextStep

_ANSWERED = text("""
    SELECT DISTINCT ON (asked.id) asked.id, body ->> 'answer' AS answer,
           coalesce(body ->> 'given_by', body ->> 'settled_by') AS by
    FROM interventions asked
    JOIN events ON events.task_id = asked.task_id
         AND events.kind IN ('QuestionAnswered', 'RecordsSettled')
         AND (events.body ->> 'intervention')::bigint = asked.id
    WHERE asked.id = ANY(CAST(:ids AS bigint[]))
    ORDER BY asked.id, events.id
""")


_ASKERS = text("""
    SELECT DISTINCT ON (asked.id) asked.id, asked.task_id, runs.target, attempts.step,
           attempts.subtask, attempts.number, attempts.body ->> 'runner' AS runner,
           attempts.body -> 'question' -> 'details' AS details
    FROM interventions asked
    JOIN runs ON runs.id = asked.run_id
    JOIN attempts ON attempts.run_id = asked.run_id AND attempts.step = asked.step
         AND attempts.outcome = 'needs_input' AND attempts.body IS NOT NULL
         AND attempts.reason = asked.reason
    WHERE asked.id = ANY(CAST(:ids AS bigint[]))
    ORDER BY asked.id, attempts.id DESC
""")


@dataclass(frozen=True, slots=True)
class Asker:
    """The agent that asks a question: what people call its runner, and its attempt.

    `details` say what each option means to it; empty if it does not say that.
    """

    runner: str
    attempt: RefValue
    details: tuple[str, ...] = ()


def askers(connection: Connection, intervention_ids: Sequence[int]) -> dict[int, Asker]:
    """The agents that ask those of these questions which agents ask."""
    if not intervention_ids:
        return {}
    found = connection.execute(_ASKERS, {"ids": list(intervention_ids)})
    return {
        row.id: Asker(
            row.runner,
            Ref(row.task_id, row.step, row.subtask, attempt=row.number, target=row.target),
            tuple(row.details or ()),
        )
        for row in found
    }


def answers(connection: Connection, intervention_ids: Sequence[int]) -> dict[int, GivenAnswer]:
    """What people answered to those of these interventions that one answer ends.

    Those ask a question, or what to do with records that the database does not know.
    """
    if not intervention_ids:
        return {}
    found = connection.execute(_ANSWERED, {"ids": list(intervention_ids)})
    return {row.id: GivenAnswer(row.answer, row.by) for row in found}


def next_steps(
    number: int, ref: Ref, options: Sequence[str], *, any_text: bool = False
) -> tuple[Advice, ...]:
    """What a person can do about a question: one command per option, and one for any text."""
    given: list[str | Blank] = [*options]
    if any_text or not options:
        given.append(Blank("ANSWER", text=True))
    ways = [NextStep.of("intervention answer", f"I{number}", answer) for answer in given]
    if ref.step is not None and ref.target is not None:
        ways.append(NextStep.of("step revise", ref, file=Blank("revision.yaml")))
        ways.append(NextStep.of("step abandon", ref))
    elif ref.step is None:
        ways.append(NextStep.of("plan provide", f"T{ref.task}", file=Blank("plan.yaml")))
    return (*ways, NextStep.of("task cancel", f"T{ref.task}"))
