"""A manager's answer: an analysis and development tasks, and the steps that these become."""

from typing import Any

import pytest
from pydantic import ValidationError

from shared.contracts.project import ProjectPlan
from shared.contracts.project_answer import ProjectAnswer
from shared.domain.author import Author, PlanningRole
from shared.domain.errors import Rejected
from shared.domain.plan import SubtaskKind

AUTHOR = Author(PlanningRole.PLANNER, "anthropic")
ANALYSIS = {
    "current_state": "A script that counts lines.",
    "already_done": ["It reads a file."],
    "remaining_work": ["A summary.", "A test of it."],
}


def task(name: str, **others: Any) -> dict[str, Any]:
    return {
        "id": name,
        "title": f"Write {name}",
        "description": f"Write {name}.sh, which prints the sum.",
        "acceptance_criteria": [f"{name}.sh exits with 0."],
        "depends_on": [],
        "check": f"sh {name}.sh",
        **others,
    }


def answer(*tasks: dict[str, Any]) -> ProjectAnswer:
    return ProjectAnswer.model_validate({"analysis": ANALYSIS, "tasks": list(tasks)})


def test_an_answer_is_a_project() -> None:
    """S3.31-S3.36, S3.42-S3.46: what a manager says, as it is stored."""
    project = answer(task("sum"), task("report", depends_on=["sum"])).project("Sums", 4)
    assert project.project_goal == "Sums"
    assert project.status == "active"
    assert project.analysis is not None
    assert project.analysis.model_dump() == ANALYSIS
    first, second = project.tasks
    assert (first.id, first.title, first.description) == (
        "sum",
        "Write sum",
        "Write sum.sh, which prints the sum.",
    )
    assert (first.acceptance_criteria, first.status) == (["sum.sh exits with 0."], "pending")
    assert (first.attempt, first.max_attempts) == (0, 4)
    assert second.depends_on == ["sum"]
    assert ProjectPlan.model_validate(project.model_dump(mode="json")) == project


def test_each_task_is_a_step_with_one_agent() -> None:
    """S3.55, S3.56: two tasks begin at once, one needs both."""
    plan = answer(
        task("sum"), task("mean"), task("report", depends_on=["sum", "mean"], check=" ")
    ).plan(AUTHOR)
    assert [(step.key, step.depends_on) for step in plan.steps] == [
        ("sum", ()),
        ("mean", ()),
        ("report", (1, 2)),
    ]
    (work,) = plan.steps[0].subtasks
    assert work.kind is SubtaskKind.AGENT
    assert (work.command, work.check) == ("Write sum.sh, which prints the sum.", "sh sum.sh")
    assert work.agent is not None
    assert work.agent.acceptance == ("sum.sh exits with 0.",)
    assert plan.steps[2].subtasks[0].check is None
    assert plan.steps[0].author == AUTHOR


def test_a_question_of_the_manager_waits_at_its_task() -> None:
    """S3.57: the person is asked before anybody begins the task."""
    (step,) = answer(task("sum", ask_question="Which decimal sign?")).plan(AUTHOR).steps
    assert step.ask_question == "Which decimal sign?"


def test_what_an_answer_says_of_the_course_of_a_task_does_not_count() -> None:
    """Nobody has begun it: a manager cannot declare a task approved."""
    claimed = task("sum", status="approved", attempt=2, review_verdict="approved")
    (planned,) = answer(claimed).project("Sums", 3).tasks
    assert (planned.status, planned.attempt, planned.review_verdict) == ("pending", 0, None)


def test_the_course_of_a_task_is_not_in_the_schema_of_the_answer() -> None:
    form = ProjectAnswer.model_json_schema()["$defs"]["DevTaskAnswer"]["properties"]
    assert set(form) == {
        *("id", "title", "description", "acceptance_criteria", "depends_on"),
        *("check", "ask_question"),
    }


@pytest.mark.parametrize(
    ("tasks", "told"),
    [
        ([task("sum"), task("sum")], "'sum' stands twice"),
        ([task("sum", depends_on=["mean"])], "'mean', which is unknown"),
        (
            [task("sum", depends_on=["mean"]), task("mean", depends_on=["sum"])],
            "in a circle: mean, sum",
        ),
    ],
)
def test_tasks_that_do_not_fit_together_are_refused(tasks: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(Rejected, match=told):
        answer(*tasks).project("Sums", 3)


def test_a_plan_without_a_task_is_refused() -> None:
    with pytest.raises(Rejected, match="has no steps"):
        answer().plan(AUTHOR)


@pytest.mark.parametrize(
    "bad",
    [
        {"acceptance_criteria": []},
        {"description": " "},
        {"description": "Use ${secret:KEY}."},
        {"title": ""},
        {"id": "two words"},
    ],
)
def test_a_task_that_nobody_could_judge_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        answer(task("sum", **bad))
