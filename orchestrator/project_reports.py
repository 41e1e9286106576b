"""Writes the completion report of every project that has ended (S3.49)."""

from orchestrator.views.projects import project_view
from orchestrator.words.projects import completion_report
from shared.domain.ids import Ref
from shared.store import projects
from shared.store.database import Database


def report_completed(database: Database) -> int:
    """Store the report of each project that has ended since its last one; returns their number."""
    with database.begin() as connection:
        ended = projects.to_report(connection)
        for task_id in ended:
            report = completion_report(project_view(connection, Ref(task_id)))
            projects.keep_report(connection, task_id, report)
    return len(ended)
