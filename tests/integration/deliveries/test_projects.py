"""A project over a real repository: planned, carried out, paused, shown, and reported."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.acts import projects as project_acts
from orchestrator.acts.caller import Caller
from orchestrator.acts.projects import ProjectRequest
from orchestrator.coordinator import Coordinator
from orchestrator.project_reports import report_completed
from orchestrator.store import SqlLedger
from orchestrator.views.projects import project_view
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.settings import load_settings
from shared.store import projects
from tests.integration.deliveries.conversing import Conversing, program
from tests.integration.deliveries.test_reviews import ONCE
from tests.integration.deliveries.test_sessions import Sessions, sessions
from tests.integration.workspaces.sources import run_git
from workers.wiring import make_worker

__all__ = ["program", "sessions"]

RUNBOOK = """
projects:
  - id: one
    match: ["write one"]
    analysis:
      current_state: Two files.
      already_done: [readme]
      remaining_work: [one]
    tasks:
      - id: one
        title: Write one
        description: Write a number into one.
        acceptance_criteria: [one has a number]
        depends_on: []
        check: test -s one
      - id: again
        title: Read one
        description: Keep one as it is and write two.
        acceptance_criteria: [two is there]
        depends_on: [one]
        check: test -s two
"""


@pytest.fixture
def managed(
    sessions: Sessions, program: Conversing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Caller]:
    """A library that knows a project, and somebody who starts it."""
    folder = tmp_path / "runbook"
    folder.mkdir()
    (folder / "one.yaml").write_text(RUNBOOK)
    monkeypatch.setenv("REPLAN_RUNBOOK_DIRS", str(folder))
    program.will(
        """
        name = "two" if "write two" in task else "one"
        pathlib.Path(name).write_text("2" if "prints nothing" in task else "1")
        """,
        ONCE,
    )
    settings = load_settings(os.environ)
    sessions.worker.close()
    sessions.worker = make_worker(settings, ["all"])
    yield Caller.of_account(settings, sessions.database)
    sessions.worker.close()


def start(caller: Caller, goal: str = "Write one", **changes: Any) -> Ref:
    given = ProjectRequest(goal, "app", ("planner=runbook", "max_transient_failures=0"))
    return project_acts.start(caller, replace(given, **changes)).value.ref


def planned(sessions: Sessions) -> None:
    """Have the manager plan, and nothing else."""
    coordinator = Coordinator(SqlLedger(sessions.database))
    coordinator.drain()
    [(job,)] = sessions.rows("SELECT id FROM jobs WHERE kind = 'plan'")
    assert isinstance(job, int)
    sessions.worker.lifecycle.carry_out(job)
    coordinator.drain()


def test_a_project_is_stored_as_its_manager_planned_it_and_shown_as_it_stands(
    sessions: Sessions, managed: Caller
) -> None:
    """S3.31-S3.49: before, while and after it is carried out."""
    ref = start(managed)
    with sessions.database.begin() as connection:
        before = project_view(connection, ref)
    assert (before.plan.tasks, before.plan.analysis, before.plan.status) == ([], None, "active")
    planned(sessions)
    with sessions.database.begin() as connection:
        stored = projects.find(connection, ref.task)
        view = project_view(connection, ref)
    assert stored is not None
    assert stored.plan.analysis == view.plan.analysis
    assert [task.id for task in stored.plan.tasks] == ["one", "again"]
    assert (stored.plan.project_goal, stored.completion_report) == ("Write one", "")
    first, second = view.plan.tasks
    assert (first.status, second.status, second.depends_on) == ("pending", "pending", ["one"])
    assert (first.attempt, first.max_attempts, first.started_at) == (0, 3, None)
    sessions.carry_on()
    with sessions.database.begin() as connection:
        ended = project_view(connection, ref)
    first, second = ended.plan.tasks
    assert ended.plan.status == "completed", sessions.problems()
    assert (first.status, first.attempt, first.review_verdict) == ("approved", 2, "approved")
    assert first.dev_report == "did it"
    assert len(first.rejection_history) == 1
    assert first.started_at is not None
    assert first.completed_at is not None
    assert first.started_at < first.completed_at
    assert second.started_at is not None
    assert second.started_at > first.started_at
    assert ended.checkpoint is not None
    assert (
        ended.checkpoint.head == ended.head == run_git(sessions.remote, "rev-parse", "session/T1")
    )
    assert report_completed(sessions.database) == 1
    assert report_completed(sessions.database) == 0, "it is written once"
    with sessions.database.begin() as connection:
        told = project_view(connection, ref).plan.completion_report
    for part in ("completed, 2 of 2 tasks approved", str(ended.head), "one:1 prints nothing"):
        assert part in told


def test_a_paused_project_begins_nothing_until_it_is_resumed(
    sessions: Sessions, managed: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3.46."""
    coordinator = Coordinator(SqlLedger(sessions.database))
    monkeypatch.setattr("orchestrator.acts.post.PATIENCE", 0.0)
    ref = start(managed)
    with pytest.raises(Rejected, match="its manager is planning it"):
        project_acts.pause(managed, ref)
    planned(sessions)
    [(job,)] = sessions.rows("SELECT id FROM jobs WHERE kind = 'execute'")
    assert isinstance(job, int)
    project_acts.pause(managed, ref)
    coordinator.drain()
    with sessions.database.begin() as connection:
        assert project_view(connection, ref).plan.status == "paused"
    with pytest.raises(Rejected, match="nothing to pause"):
        project_acts.pause(managed, ref)
    sessions.carry_on()  # what was begun goes on
    with sessions.database.begin() as connection:
        first, second = project_view(connection, ref).plan.tasks
    assert (second.status, second.attempt) == ("pending", 0), first
    project_acts.resume(managed, ref)
    sessions.carry_on()
    with sessions.database.begin() as connection:
        assert project_view(connection, ref).plan.status == "completed", sessions.problems()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"goal": " "}, "the goal is empty"),
    ({"repository": "localhost"}, "'localhost' is not a repository"),
    ({"repository": "nowhere"}, "'nowhere' is not a repository"),
    ({"settings": ("planner=human",)}, "a person cannot be asked to manage"),
]


def test_what_cannot_be_a_project_is_refused_before_anything_is_written(
    sessions: Sessions, managed: Caller
) -> None:
    for changes, told in REFUSED:
        with pytest.raises(Rejected, match=told):
            start(managed, **changes)
    assert sessions.rows("SELECT count(*) FROM tasks") == [(0,)]


def test_a_goal_that_no_library_knows_waits_with_what_to_type_next(
    sessions: Sessions, managed: Caller
) -> None:
    ref = start(managed, goal="Fly to the moon")
    sessions.carry_on()
    with sessions.database.begin() as connection:
        view = project_view(connection, ref)
    assert "knows no project" in view.reason
