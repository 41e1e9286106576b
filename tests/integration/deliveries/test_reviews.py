"""Deliveries are reviewed by a program that did not write them, from the plan to the remote."""

import os
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import text

from orchestrator.views.projects import project_view
from shared.contracts.project import ReviewResult
from shared.domain.agent import AgentWork
from shared.domain.ids import Ref
from shared.settings import load_settings
from shared.store import reviews
from tests.integration.deliveries.conversing import APPROVED, Conversing, program
from tests.integration.deliveries.test_sessions import POLICY, Sessions, by_agent, sessions
from workers.wiring import make_worker

__all__ = ["program", "sessions"]

REVIEWED = replace(POLICY, project=True)
CORRECTED = """
made = "2" if "prints nothing" in task else "1"
pathlib.Path("one").write_text(made + chr(10))
"""
BAD = {
    **APPROVED,
    "approved": False,
    "summary": "It is empty.",
    "comments": ["one:1 prints nothing"],
}
FENCE = "SELECT fence FROM jobs WHERE kind = 'review'"
ONCE = f"return {BAD!r} if n == 1 else {APPROVED!r}"


def developed(check: str = "test -s one") -> Any:
    """A step that the program develops."""
    work = by_agent("true", check=check)
    goal = work.subtasks[0]
    agent = AgentWork(runner="claude-code", acceptance=("one has a number",))
    return replace(work, subtasks=(replace(goal, agent=agent),))


def test_a_reviewer_reads_exactly_what_will_be_published_and_changes_nothing_of_it(
    sessions: Sessions, program: Conversing
) -> None:
    """S3.50-S3.54: what it says is stored as it is; what it writes is nobody's."""
    program.will(
        'pathlib.Path("one").write_text("1" + chr(10))',
        f"""
        seen = sorted(p.name for p in pathlib.Path(".").iterdir() if p.name != ".git")
        pathlib.Path("one").write_text("changed by the reviewer")
        return {APPROVED!r} | {{"files_reviewed": seen}}
        """,
    )
    sessions.submit(developed(), policy=REVIEWED)
    sessions.carry_on()
    assert sessions.phases() == ["done"], sessions.problems()
    assert sessions.published("session/T1", "one") == "1"
    with sessions.database.begin() as connection:
        [(step, review)] = reviews.by_step(connection, 1).items()
    assert (step, review.reviewer) == (1, "claude-code")
    assert review.result == ReviewResult(**APPROVED | {"files_reviewed": ["code", "one", "readme"]})
    (asked,) = program.asked("review")
    for part in ("one has a number", "+1", "test ! -e broken", "exit code 0", '"did it"'):
        assert part in asked
    [(key, outcome, look, body)] = sessions.rows(
        "SELECT key, outcome, look, body FROM attempts WHERE command LIKE 'Review %'"
    )
    assert (key, outcome, look) == (review.attempt_key, "ok", True)
    with sessions.database.begin() as connection:
        given = reviews.delivery_of(connection, 1, 1, 0, 1)
        assert given.authors == {"claude-code"}
        other = text(
            "UPDATE attempts SET body = jsonb_set(body, '{runner}', '\"codex\"') WHERE look"
        )
        connection.execute(other)
        assert reviews.delivery_of(connection, 1, 1, 0, 1).authors == {"claude-code"}
        connection.execute(text("UPDATE attempts SET look = FALSE"))
        both = {"claude-code", "codex"}
        assert reviews.delivery_of(connection, 1, 1, 0, 1).authors == both
    assert isinstance(body, dict)
    assert (body["tokens"], body["cost"], body["model"]) == (15, "0.25", "scripted")


def test_a_rejected_developer_knows_why_and_works_again_though_its_check_is_green(
    sessions: Sessions, program: Conversing
) -> None:
    """S3.35-S3.40, S3.55."""
    program.will(CORRECTED, ONCE)
    sessions.submit(developed(), policy=REVIEWED)
    sessions.carry_on()
    assert sessions.phases() == ["done"], sessions.problems()
    assert sessions.published("session/T1", "one") == "2"
    first, second = program.asked("work")
    assert "rejection_history" not in first
    assert "one:1 prints nothing" in second
    assert "prints nothing" in program.asked("review")[1], "the reviewer sees it, too"
    with sessions.database.begin() as connection:
        (task,) = project_view(connection, Ref(1)).plan.tasks
    assert (task.status, task.attempt, task.review_verdict) == ("approved", 2, "approved")
    (why,) = task.rejection_history
    assert "It is empty." in why
    assert task.dev_report == "did it"


def test_an_answer_that_is_none_is_asked_for_again_and_then_a_person_decides(
    sessions: Sessions, program: Conversing
) -> None:
    program.will(
        'pathlib.Path("one").write_text("1" + chr(10))',
        'return None if n == 1 else {"approved": "yes"}',
    )
    sessions.submit(developed(), policy=REVIEWED)
    sessions.carry_on()
    assert sessions.phases() == ["waiting"]
    assert len(program.asked("review")) == 2
    [(_, step, reason)] = sessions.problems()
    assert (step, "nobody could review it" in str(reason)) == (1, True)
    assert sessions.rows("SELECT count(*) FROM reviews") == [(0,)]
    assert sessions.rows("SELECT status FROM deliveries") == [("published",)]
    sessions.answer(accepted=True)
    sessions.carry_on()
    assert sessions.phases() == ["done"], sessions.problems()
    assert len(program.asked("review")) == 2


def test_one_bad_answer_costs_nothing_but_another_review(
    sessions: Sessions, program: Conversing
) -> None:
    program.will(
        'pathlib.Path("one").write_text("1" + chr(10))',
        f"return None if n == 1 else {APPROVED!r}",
    )
    sessions.submit(developed(), policy=REVIEWED)
    sessions.carry_on()
    assert sessions.phases() == ["done"], sessions.problems()
    outcomes = sessions.rows(
        "SELECT outcome FROM attempts WHERE command LIKE 'Review %' ORDER BY number"
    )
    assert [row[0] for row in outcomes] == ["failed", "ok"]


def test_a_reviewer_outlives_its_worker(sessions: Sessions, program: Conversing) -> None:
    """The next worker waits for the same reviewer: nobody starts a second one."""
    going = program.folder / "going"
    program.will(
        'pathlib.Path("one").write_text("1" + chr(10))',
        f"""
        pathlib.Path({str(program.folder / "begun")!r}).touch()
        while os.path.exists({str(program.folder)!r}) and not os.path.exists({str(going)!r}):
            time.sleep(0.02)
        return {APPROVED!r}
        """,
    )
    sessions.submit(developed(), policy=REVIEWED)
    first = threading.Thread(target=sessions.carry_on, daemon=True)
    first.start()
    try:
        drive_on_beside(sessions, program, first, going)
    finally:
        going.touch()
        first.join()
    sessions.carry_on()
    assert sessions.phases() == ["done"], sessions.problems()
    assert len(program.asked("review")) == 1
    assert sessions.rows("SELECT count(*) FROM reviews") == [(1,)]
    assert len(sessions.rows("SELECT id FROM attempts WHERE command LIKE 'Review %'")) == 1


def drive_on_beside(
    sessions: Sessions, program: Conversing, first: threading.Thread, going: Path
) -> None:
    """Have another worker take over the review that the first one has begun, and wait for it."""
    begun = program.folder / "begun"
    while not begun.exists() and first.is_alive():
        first.join(0.02)
    assert begun.exists()
    with sessions.database.begin() as connection:
        query = text("UPDATE jobs SET lease_until = now() - interval '1 s' WHERE kind = 'review'")
        connection.execute(query)
        [job] = connection.execute(text("SELECT id FROM jobs WHERE kind = 'review'")).scalars()
    with closing(make_worker(load_settings(os.environ), ["all"])) as other:
        second = threading.Thread(target=other.lifecycle.carry_out, args=(job,), daemon=True)
        second.start()
        while second.is_alive() and sessions.rows(FENCE) != [(2,)]:
            second.join(0.02)
        going.touch()
        second.join()
