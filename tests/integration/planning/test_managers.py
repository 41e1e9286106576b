"""A model manages a project: the real client against a scripted Messages API (S3.55)."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.errors import Rejected
from tests.fakes.model_server import Says
from tests.integration.planning.conftest import Planners
from tests.unit.contracts.test_project_answer import ANALYSIS, task
from tests.unit.planning.given_agents import PROJECT_REQUEST
from workers.planning import Looks, LooksFirst, NotAsPlanned, SeenLook


def managed(*tasks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    listed = [{"ask_question": "", **each} for each in tasks]
    given = {"considerations": "", "summary": "Sums.", "analysis": ANALYSIS, "tasks": listed}
    return {**given, "impossible": "", "looks": [], **changes}


def test_a_model_is_asked_as_a_manager_and_answers_once(planners: Planners) -> None:
    planners.model.will(Says(managed(task("sum"), task("report", depends_on=["sum"]))))
    draft = planners.backend().project(PROJECT_REQUEST)
    assert [step.depends_on for step in draft.plan.steps] == [(), (1,)]
    assert draft.project.analysis is not None
    assert draft.project.analysis.model_dump() == ANALYSIS
    (asked,) = planners.model.asked
    assert "Now you are the manager of a project." in asked.system
    assert "Split it into main steps" not in asked.system
    assert "- app: /srv/app on localhost" in asked.said[0]
    fields = asked.schema["$defs"]["DevTaskAnswer"]["properties"]
    assert "acceptance_criteria" in fields
    assert "status" not in fields
    assert planners.calls[0].purpose == "project"


def test_a_manager_looks_at_the_repository_before_it_answers(planners: Planners) -> None:
    look = {"command": "git log -5 --oneline", "why": "what was done", "host": "app"}
    wanted = managed(analysis=None, looks=[look])
    planners.model.will(Says(wanted), Says(managed(task("sum"))))
    may_look = replace(PROJECT_REQUEST, looks=Looks((), 1, 1))
    with pytest.raises(LooksFirst) as raised:
        planners.backend().project(may_look)
    assert [(each.host, each.command) for each in raised.value.looks] == [
        ("app", "git log -5 --oneline")
    ]
    seen = SeenLook(1, "app", look["command"], look["why"], "exit code 0", "abc first\n")
    draft = planners.backend().project(replace(PROJECT_REQUEST, looks=Looks((seen,), 0, 1)))
    assert len(draft.plan.steps) == 1
    assert "abc first" in planners.model.asked[1].said[0]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (managed(task("sum", depends_on=["sum"])), "in a circle"),
        (managed(task("sum", check="true")), "proves nothing"),
        (managed(task("sum", acceptance_criteria=[])), "acceptance_criteria"),
        (managed(), "has no steps"),
        (managed(task("sum"), analysis=None), "the analysis is missing"),
    ],
)
def test_an_answer_that_nobody_could_carry_out_goes_back_once(
    planners: Planners, wrong: dict[str, Any], told: str
) -> None:
    planners.model.will(Says(wrong), Says(managed(task("sum"))))
    assert len(planners.backend().project(PROJECT_REQUEST).plan.steps) == 1
    assert told in planners.model.asked[1].said[-1]


def test_a_manager_that_gives_two_such_answers_has_no_plan(planners: Planners) -> None:
    planners.model.will(*[Says(managed())] * 2)
    with pytest.raises(Rejected, match="two answers that cannot be used"):
        planners.backend().project(PROJECT_REQUEST)


def test_a_goal_that_cannot_be_reached_is_said_to_be_so(planners: Planners) -> None:
    planners.model.will(Says(managed(analysis=None, impossible="There is no such parser.")))
    with pytest.raises(NotAsPlanned, match="no such parser"):
        planners.backend().project(PROJECT_REQUEST)
