"""What people have answered to requests for approval, and what has run since."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

from orchestrator.views.approvals import ApprovalAnswer, approval_answers, asked_in
from shared.domain.approval import ApprovalRequest

_CLOSED = text("""
    SELECT id, asked, closed_at > clock_timestamp() - make_interval(secs => :seconds) AS recent
    FROM interventions
    WHERE kind = 'approval' AND closed_at IS NOT NULL AND asked <> '[]' ORDER BY id
""")

_RECORDED = text("""
    SELECT command, target FROM (
        SELECT attempts.command, runs.target, max(attempts.id) AS newest
        FROM attempts JOIN runs ON runs.id = attempts.run_id
        WHERE attempts.started_at > clock_timestamp() - make_interval(secs => :seconds)
        GROUP BY attempts.command, runs.target
    ) found ORDER BY newest DESC LIMIT :most
""")
_MOST_RECORDED = 2000


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """A question about texts, and whether a person approved them. `name` is the intervention's."""

    name: str
    approved: bool
    asked: tuple[ApprovalRequest, ...]


def answered_requests(connection: Connection, seconds: float) -> tuple[AnsweredRequest, ...]:
    """What was approved in the last `seconds`, and everything that was ever denied."""
    rows = connection.execute(_CLOSED, {"seconds": seconds}).all()
    answers = approval_answers(connection, [row.id for row in rows])
    found = []
    for row in rows:
        answer = answers.get(row.id)
        if answer is None:
            continue
        approved = answer.answer == ApprovalAnswer.APPROVED
        if row.recent or not approved:
            found.append(AnsweredRequest(f"I{row.id}", approved, asked_in(row)))
    return tuple(found)


def recorded_commands(connection: Connection, seconds: float) -> tuple[tuple[str, str], ...]:
    """Commands that ran in the last `seconds`, the newest first, each with its target."""
    rows = connection.execute(_RECORDED, {"seconds": seconds, "most": _MOST_RECORDED})
    return tuple((row.command, row.target) for row in rows)
