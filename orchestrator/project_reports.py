"""Writes the completion report of every project that has ended (S3.49)."""

from sqlalchemy import text

from orchestrator.views.projects import project_view
from orchestrator.words.projects import completion_report
from shared.domain.ids import Ref
from shared.store import projects
from shared.store.database import Database

_ENDED = text("""
    SELECT projects.task_id FROM projects JOIN tasks ON tasks.id = projects.task_id
    WHERE tasks.ended_at IS NOT NULL
      AND (projects.completion_report = '' OR projects.updated_at < tasks.ended_at)
    ORDER BY projects.task_id LIMIT 20
""")


def report_completed(database: Database) -> int:
    """Store the report of each project that has ended since its last one; returns their number."""
    with database.begin() as connection:
        ended = list(connection.execute(_ENDED).scalars())
        for task_id in ended:
            report = completion_report(project_view(connection, Ref(task_id)))
            projects.keep_report(connection, task_id, report)
    return len(ended)
