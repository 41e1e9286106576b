"""A list that was cut says so, and goes on where it ended."""

from typing import Any

from sqlalchemy import text

from orchestrator.views.interventions import page_of_interventions
from orchestrator.views.task_lists import list_tasks
from tests.integration.cli.calling import Cli

_TASKS = """
    INSERT INTO tasks (prompt, phase, policy)
    SELECT 'p' || n, 'waiting', '{}' FROM generate_series(1, 5) AS n
"""
_INTERVENTIONS = """
    INSERT INTO interventions (task_id, kind, stage, reason)
    SELECT id, 'plan', 'plan', '' FROM tasks
"""


def fill(cli: Cli) -> None:
    with cli.database.begin() as connection:
        connection.execute(text(_TASKS))
        connection.execute(text(_INTERVENTIONS))


def pages(cli: Cli, field: str, *words: object) -> list[list[Any]]:
    """Every page of a list, each asked for by the command that the one before it gave."""
    answer = cli.json(*words)
    found = [answer["details"][field]]
    while answer["next_step_cmd"] is not None:
        assert answer["details"]["next"]
        answer = cli.json(*answer["next_step_cmd"].split()[1:])
        found.append(answer["details"][field])
    assert answer["details"]["next"] is None
    return found


def test_tasks_go_on_where_the_list_was_cut(cli: Cli) -> None:
    fill(cli)
    found = pages(cli, "tasks", "task", "list", "--limit", 2, "--phase", "waiting")
    assert [[task["ref"] for task in page] for page in found] == [
        ["T5", "T4"],
        ["T3", "T2"],
        ["T1"],
    ]
    said = cli("task", "list", "--limit", 2).out
    assert "there are more" in said
    assert "next: replan task list --limit 2 --after 4" in said
    assert "there are more" not in cli("task", "list", "--limit", 5).out


def test_interventions_and_the_audit_go_on_too(cli: Cli) -> None:
    fill(cli)
    found = pages(cli, "interventions", "intervention", "list", "--limit", 3)
    assert [[each["id"] for each in page] for page in found] == [[1, 2, 3], [4, 5]]
    for name in ("a", "b", "c"):
        cli.json("host", "add", name, "--local")
    entries = pages(cli, "entries", "audit", "list", "--limit", 2)
    assert [[each["seq"] for each in page] for page in entries] == [[3, 2], [1]]


def test_a_list_that_is_read_while_it_grows_repeats_nothing(cli: Cli) -> None:
    """The cursor is the number of the last one, not how many there were."""
    fill(cli)
    with cli.database.begin() as connection:
        first = list_tasks(connection, limit=2)
        connection.execute(text(_TASKS))
        following = list_tasks(connection, limit=9, after=first.next)
        assert [task.ref.task for task in following.tasks] == [3, 2, 1]
        assert page_of_interventions(connection, limit=9, after=5).interventions == ()
