"""S3: what executors are asked and answer, and the contracts of a project."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.contracts.coderesult import result_in
from shared.contracts.exchange import (
    ExecutorRequest,
    ExecutorResponse,
    request_of,
    validate_request,
    validate_response,
)
from shared.contracts.planfile import load_plan
from shared.contracts.planstep import PlanStep
from shared.contracts.project import DevTask, ProjectPlan, ReviewResult
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.question import Question, choice
from tests.unit.core.given import step

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"task_id": ""}, "task_id"),
        ({"task_id": "  "}, "task_id"),
        ({"goal": ""}, "goal"),
        ({"goal": "\t"}, "goal"),
        ({"allowed_tools": "bash"}, "allowed_tools"),
        ({"allowed_tools": ("bash",)}, "allowed_tools"),
        ({"allowed_tools": {}}, "allowed_tools"),
        ({"deadline_ms": -1}, "deadline_ms"),
    ],
)
def test_a_request_that_is_none_is_refused(changed: dict[str, Any], said: str) -> None:
    """S3.29."""
    with pytest.raises(ValueError, match=said):
        validate_request({"task_id": "T1.1@web1", "goal": "do it", **changed})
    built = ExecutorRequest.model_construct(**{"task_id": "t", "goal": "g", **changed})
    with pytest.raises(ValueError, match=said):
        validate_request(built)


def test_a_request_has_no_other_fields() -> None:
    with pytest.raises(ValueError, match="did you mean 'goal'"):
        validate_request({"task_id": "t", "goal": "g", "gaol": "h"})


@pytest.mark.parametrize("tools", [None, [], ["bash", "grep"]])
def test_a_request_is_taken_as_it_is(tools: list[str] | None) -> None:
    """S3.13-S3.22: what is left out has its default."""
    request = validate_request({"task_id": "t", "goal": "g", "allowed_tools": tools})
    assert (request.allowed_tools, request.profile, request.inputs) == (tools, "default", {})
    assert validate_request(request) == request


@pytest.mark.parametrize("status", ["ok", "needs_input", "error", "timeout", "blocked", "partial"])
def test_every_status_of_a_response_is_taken(status: str) -> None:
    """S3.24."""
    assert validate_response({"task_id": "t", "status": status}).status == status


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"task_id": ""}, "task_id"), ({"status": "done"}, "status"), ({"status": ""}, "status")],
)
def test_a_response_that_is_none_is_refused(changed: dict[str, Any], said: str) -> None:
    """S3.30."""
    with pytest.raises(ValueError, match=said):
        validate_response({"task_id": "t", "status": "ok", **changed})
    built = ExecutorResponse.model_construct(**{"task_id": "t", "status": "ok", **changed})
    with pytest.raises(ValueError, match=said):
        validate_response(built)


def test_a_step_is_a_request_that_holds() -> None:
    """S3.13-S3.22: even a step without words has a goal."""
    asked = step(instruction=" ", title=" ", ask_question="Which?", answer="both")
    request = request_of(asked, asked.subtasks, Policy(), ref="T1.1@a", corr_id="1-1-0-1", task="p")
    assert validate_request(request) == request
    assert (request.goal, request.context, request.corr_id) == ("T1.1@a", "p", "1-1-0-1")
    assert request.deadline_ms == 300_000
    assert request.inputs["answers"] == {"Which?": "both"}
    assert request.constraints["error_threshold_per_step"] == 4


def test_a_plan_file_is_made_of_plan_steps() -> None:
    """S3.2-S3.12: each field of a step in a file arrives in the plan."""
    plan = load_plan(
        """
steps:
  - {id: a, title: A, subtasks: [{run: 'true'}]}
  - id: b
    title: B
    instruction: Look
    step_type: check
    parallel_group: g
    parallelizable: true
    parallelizable_reason: it only looks
    allowed_tools: [ls]
    ask_question: ' Which? '
    ask_options: [x, y]
    subtasks: [{run: ls}]
  - {id: c, title: C, parallel_group: g, subtasks: [{run: 'true'}]}
  - {id: d, title: D, parallel_group: g, parallelizable: false, subtasks: [{run: 'true'}]}
""",
        policy=Policy(),
    )
    _, b, c, d = plan.steps
    assert (b.step_type, b.parallelizable, b.parallelizable_reason) == (
        "check",
        True,
        "it only looks",
    )
    assert (b.allowed_tools, b.ask_question, b.ask_options) == (("ls",), "Which?", ("x", "y"))
    assert (b.depends_on, c.depends_on) == ((1,), (1,))
    assert d.depends_on == (2, 3), "what may not run beside its group comes after it"
    assert PlanStep(title="T").step_type == "task"


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"status": "done"}, "status"),
        ({"attempt": 4}, "at most 3"),
        ({"attempt": -1}, "attempt"),
        ({"started_at": NOW, "completed_at": NOW - timedelta(1)}, "before it was started"),
        ({"started_at": "2026-01-01T00:00:00"}, "started_at"),
    ],
)
def test_a_task_of_development_that_is_none_is_refused(task: dict[str, Any], said: str) -> None:
    """S3.31-S3.41, X16."""
    with pytest.raises(ValidationError, match=said):
        DevTask.model_validate({"id": "a", "title": "A", **task})


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"tasks": [{"id": "a", "title": "A"}] * 2}, "stands twice"),
        ({"tasks": [{"id": "a", "title": "A", "depends_on": ["b"]}]}, "'b'"),
        ({"tasks": [{"id": "a", "title": "A", "depends_on": ["a"]}]}, "circle"),
        ({"current_task_id": "a"}, "current_task_id"),
        ({"status": "pending"}, "status"),
        ({"project_goal": ""}, "project_goal"),
    ],
)
def test_a_plan_of_a_project_that_is_none_is_refused(plan: dict[str, Any], said: str) -> None:
    """S3.43-S3.49."""
    with pytest.raises(ValidationError, match=said):
        ProjectPlan.model_validate({"project_goal": "g", **plan})


def test_a_project_is_read_back_from_its_json() -> None:
    """Defaults as S3.34, S3.46 say; times survive."""
    task = DevTask(id="a", title="A", started_at=NOW)
    plan = ProjectPlan(project_goal="g", tasks=[task], created_at=NOW)
    assert (task.status, plan.status, task.attempt) == ("pending", "active", 0)
    assert ProjectPlan.model_validate_json(plan.model_dump_json()) == plan
    assert ReviewResult(approved=True).tests_passed is None


@pytest.mark.parametrize(
    ("printed", "success", "error"),
    [
        ('noise\n{"success": true, "result": {"success": false}}\n', False, ""),
        ('{"result": {"success": true, "result": {"success": false}}}', False, ""),
        ('{"success": false, "result": {"other": 1}}', False, ""),
        ('{"success": false, "context": {"error": "gone", "more": 1}}', False, "gone"),
        ('{"success": false, "context": {"error": 7}}', False, "7"),
    ],
)
def test_the_innermost_result_decides(printed: str, success: bool, error: str) -> None:
    """S1.26, S1.45."""
    found = result_in(printed)
    assert found is not None
    assert (found.success, found.error) == (success, error)


@given(st.text())
def test_whatever_a_snippet_prints_is_read_without_a_crash(printed: str) -> None:
    found = result_in(printed)
    assert found is None or isinstance(found.success, bool)


def test_an_answer_is_one_of_the_options() -> None:
    """S3.12: by its text whatever its case, or by its number."""
    question = Question("Which?", ("Red", "Deep blue"))
    assert [choice(question, given) for given in ("red", " DEEP BLUE ", "2")] == [
        "Red",
        "Deep blue",
        "Deep blue",
    ]
    assert choice(Question("Which?"), " any text ") == "any text"
    for given_answer in ("", " ", "3", "green"):
        with pytest.raises(Rejected):
            choice(question, given_answer)


def test_the_options_of_an_agent_are_suggestions() -> None:
    question = Question("Which?", ("Red", "Deep blue"))
    said = [choice(question, given, any_text=True) for given in ("red", "2", " green ")]
    assert said == ["Red", "Deep blue", "green"]
    with pytest.raises(Rejected):
        choice(question, " ", any_text=True)
