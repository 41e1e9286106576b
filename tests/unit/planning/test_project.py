"""A project is planned: by a model, and by a library of recorded projects (S3.55)."""

from pathlib import Path
from typing import Any

import pytest

from shared.contracts.project_answer import ProjectAnswer
from shared.domain.agent import AgentWork
from shared.domain.author import Author, PlanningRole
from shared.domain.errors import Misconfigured, Rejected
from shared.guard import Guard, load_site
from shared.guard.proofs import proof_rules
from tests.unit.contracts.test_project_answer import answer, task
from tests.unit.planning.given_agents import PROJECT_REQUEST
from workers.llm.judged import Judged
from workers.llm.planned_project import planned_project
from workers.llm.review import Reviewer
from workers.planning import ProjectDraft
from workers.runbook.backend import RunbookBackend

AUTHOR = Author(PlanningRole.PLANNER, "anthropic")
RUNBOOK = """
projects:
  - id: empty-lines
    match: ["reads empty lines"]
    summary: Read empty lines, and say so.
    analysis:
      current_state: A parser without empty lines.
      already_done: []
      remaining_work: [Empty lines.]
    tasks:
      - id: parser
        title: Read empty lines
        description: Make the parser skip empty lines.
        acceptance_criteria: [An empty line is skipped.]
        depends_on: []
        check: pytest -q tests/test_empty.py
      - id: help
        title: Say so in the help
        description: Name empty lines in the help.
        acceptance_criteria: [The help names empty lines.]
        depends_on: [parser]
        check: ""
"""


def held(given: ProjectAnswer) -> Judged[ProjectDraft]:
    guard = Guard(load_site(None).for_host())
    review = Reviewer(lambda _forbidden, _host: guard, proof_rules(), ("localhost",), agents=True)
    return planned_project(given, AUTHOR, PROJECT_REQUEST, review.faults)


def test_an_answer_becomes_a_project_and_its_steps() -> None:
    """S3.43, S3.36: the goal is the person's, the attempts are the policy's."""
    found = held(answer(task("sum"), task("help", check="")))
    assert not found.faults
    assert found.value is not None
    project, plan = found.value.project, found.value.plan
    assert project.project_goal == PROJECT_REQUEST.prompt
    assert [each.id for each in project.tasks] == [step.key for step in plan.steps]
    assert {each.max_attempts for each in project.tasks} == {3}


def test_a_task_without_a_check_has_those_of_its_repository() -> None:
    found = held(answer(task("help", check="")))
    assert found.value is not None
    (work,) = found.value.plan.steps[0].subtasks
    assert work.check == "pytest -q && ruff check ."
    assert work.agent == AgentWork(acceptance=("help.sh exits with 0.",))


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"check": "true"}, "proves nothing"),
        ({"check": "rm -rf /"}, "denied"),
        ({"check": "touch done"}, "changes something"),
    ],
)
def test_a_check_that_shows_nothing_goes_back_to_the_manager(
    bad: dict[str, Any], told: str
) -> None:
    assert told in held(answer(task("sum", **bad))).reason


def test_tasks_in_a_circle_go_back_to_the_manager() -> None:
    found = held(answer(task("a", depends_on=["b"]), task("b", depends_on=["a"])))
    assert found.value is None
    assert "circle" in found.reason


def library(folder: Path, text: str = RUNBOOK) -> RunbookBackend:
    (folder / "project.yaml").write_text(text)
    return RunbookBackend([folder])


def test_a_library_answers_as_a_manager(tmp_path: Path) -> None:
    draft = library(tmp_path).project(PROJECT_REQUEST)
    assert draft.project.project_goal == PROJECT_REQUEST.prompt
    assert draft.project.analysis is not None
    assert draft.project.analysis.remaining_work == ["Empty lines."]
    assert [(step.key, step.depends_on) for step in draft.plan.steps] == [
        ("parser", ()),
        ("help", (1,)),
    ]
    assert draft.plan.steps[0].author == Author(PlanningRole.PLANNER, "runbook")


def test_a_library_that_knows_no_such_project_says_which_it_knows(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("")
    with pytest.raises(Rejected, match=r"knows no project .*; it knows none"):
        RunbookBackend([tmp_path]).project(PROJECT_REQUEST)


def test_a_recorded_project_that_could_not_be_carried_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="'parsers', which is unknown"):
        library(tmp_path, RUNBOOK.replace("[parser]", "[parsers]"))
