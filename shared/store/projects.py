"""Projects in rows: what a manager found and planned, and the report at the end."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.contracts.project import ProjectPlan
from shared.domain.errors import Defect
from shared.store.delivery_tables import ProjectRow

_TO_REPORT = text("""
    SELECT projects.task_id FROM projects JOIN tasks ON tasks.id = projects.task_id
    WHERE tasks.ended_at IS NOT NULL
      AND (projects.completion_report = '' OR projects.updated_at < tasks.ended_at)
    ORDER BY projects.task_id LIMIT 20
""")


@dataclass(frozen=True, slots=True)
class StoredProject:
    """A project as its manager planned it, and its completion report, empty before its end."""

    task_id: int
    plan: ProjectPlan
    completion_report: str
    created_at: datetime
    updated_at: datetime


def save(connection: Connection, task_id: int, plan: ProjectPlan) -> None:
    """Store the plan of a project; one that was planned again has its new plan."""
    body = plan.model_dump(mode="json")
    statement = upsert(ProjectRow).values(task_id=task_id, plan=body)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["task_id"], set_={"plan": body, "updated_at": func.clock_timestamp()}
        )
    )


def find(connection: Connection, task_id: int) -> StoredProject | None:
    """The project of a task; None for a task that is none, or that nobody has planned yet."""
    row = connection.execute(
        select(ProjectRow.__table__).where(ProjectRow.task_id == task_id)
    ).one_or_none()
    if row is None:
        return None
    return StoredProject(
        row.task_id, _plan(row.plan), row.completion_report, row.created_at, row.updated_at
    )


def to_report(connection: Connection) -> list[int]:
    """The tasks of projects that have ended since their last report; the first few."""
    return list(connection.execute(_TO_REPORT).scalars())


def keep_report(connection: Connection, task_id: int, report: str) -> None:
    """Store the completion report of a project."""
    connection.execute(
        update(ProjectRow)
        .where(ProjectRow.task_id == task_id)
        .values(completion_report=report, updated_at=func.clock_timestamp())
    )


def _plan(body: object) -> ProjectPlan:
    try:
        return ProjectPlan.model_validate(body)
    except ValueError as error:
        raise Defect(f"a stored project cannot be read: {error}", stage="wire") from error
