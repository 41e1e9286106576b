"""Planners look before they answer: rounds of attempts that can change nothing."""

from pathlib import Path
from typing import Any

from orchestrator.acts.submission import Submission, submit
from shared.domain.config import Policy
from tests.fakes.model_server import Says
from tests.integration.planning.at_work import Installation
from tests.unit.planning.given import (
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)


def looks(*commands: str) -> dict[str, Any]:
    """An answer that wants to see the output of these commands first."""
    return {"looks": [{"command": each, "why": "to know", "host": ""} for each in commands]}


def submit_task(installation: Installation, **policy: Any) -> None:
    rules = Policy(auto_correction_enabled=False, **policy)
    submit(installation.database, Submission("serve pages", ("localhost",), rules))


def looked(installation: Installation) -> list[tuple[object, ...]]:
    """The attempts at looks: their place, command and outcome."""
    return installation.rows(
        "SELECT step, number, command, outcome, counted FROM attempts WHERE look ORDER BY id"
    )


def planned_to_fail(installation: Installation) -> None:
    """A plan of one step whose only command fails."""
    installation.model.will(
        Says(plan_answer(step_answer("one"))),
        Says(detail_answer(subtask_answer("fail", "exit 9"))),
    )


def test_a_model_that_looks_twice_then_revises(installation: Installation, tmp_path: Path) -> None:
    """Each round is taken once; the next question has what all rounds before it have shown."""
    (tmp_path / "port").write_text("taken by legacy\n")
    planned_to_fail(installation)
    installation.model.will(
        Says(looks(f"cat {tmp_path}/port", "echo second")),
        Says(looks("echo third")),
        Says(revision_answer(subtask_answer("free", f"echo freed > {tmp_path}/freed"))),
    )
    submit_task(installation)
    installation.carry_on()
    assert installation.rows("SELECT phase FROM tasks") == [("done",)]
    assert (tmp_path / "freed").read_text() == "freed\n"
    assert looked(installation) == [
        (1, 1, f"cat {tmp_path}/port", "ok", False),
        (1, 2, "echo second", "ok", False),
        (1, 3, "echo third", "ok", False),
    ]
    _, _, first, second, third = (asked.said[0] for asked in installation.model.asked)
    assert "taken by legacy" not in first
    assert "Rounds of looks left: 2" in first
    assert "taken by legacy" in second
    assert "Rounds of looks left: 1" in second
    assert "third" not in second
    assert "taken by legacy" in third
    assert "round 2, on localhost $ echo third" in third
    assert "You have no round of looks left" in third
    assert installation.rows(
        "SELECT kind, count(*) FROM jobs WHERE kind IN ('revise', 'look') GROUP BY kind ORDER BY 1"
    ) == [("look", 2), ("revise", 3)]
    assert installation.rows("SELECT count(*) FROM model_calls") == [(5,)]


def test_the_planner_of_a_task_and_of_a_step_look_as_well(installation: Installation) -> None:
    installation.model.will(
        Says(looks("echo of the plan")),
        Says(plan_answer(step_answer("one"))),
        Says(looks("echo of the step")),
        Says(detail_answer(subtask_answer("a", "true"))),
    )
    submit_task(installation)
    installation.carry_on()
    assert installation.rows("SELECT phase FROM tasks") == [("done",)]
    assert looked(installation) == [
        (0, 1, "echo of the plan", "ok", False),
        (1, 1, "echo of the step", "ok", False),
    ]
    assert "$ echo of the plan" in installation.model.asked[1].said[0]
    assert "$ echo of the step" in installation.model.asked[3].said[0]


def test_what_is_not_a_look_is_not_run_and_answered_with_the_reason(
    installation: Installation, tmp_path: Path
) -> None:
    """Neither a write nor a secret: the file is not there, and the planner learns why."""
    planned_to_fail(installation)
    installation.model.will(
        Says(
            looks(
                f"touch {tmp_path}/written",
                f"echo x > {tmp_path}/written",
                "cat /etc/shadow",
                "printenv",
                "echo ${secret:KEY}",
                "echo $AWS_SECRET_ACCESS_KEY",
            )
        ),
        Says(revision_answer(subtask_answer("b", "true"))),
    )
    submit_task(installation)
    installation.carry_on()
    assert not (tmp_path / "written").exists()
    assert [row[-2:] for row in looked(installation)] == [("denied", False)] * 6
    told = installation.model.asked[-1].said[0]
    assert told.count("not looked: ") == 6
    assert "a look gets no secret" in told
    assert installation.rows("SELECT count(*) FROM interventions") == [(0,)]
    assert installation.rows("SELECT phase, errors FROM run_steps") == [("done", 0)]
