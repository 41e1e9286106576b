"""What a planner may say of agents: only where there are repositories, and never unasked."""

from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from shared.contracts.agent_answers import offer_agents
from shared.contracts.answers import DetailAnswer, PlanAnswer
from shared.contracts.schemas import schema_of
from shared.domain.agent import AgentWork
from shared.domain.author import Author, PlanningRole
from shared.domain.errors import Rejected
from shared.domain.plan import SubtaskKind
from shared.guard import Guard, load_site
from shared.guard.proofs import proof_rules
from tests.unit.planning.given import detail_answer, plan_answer, step_answer, subtask_answer
from workers.llm.review import Reviewer

AUTHOR = Author(PlanningRole.PLANNER, "anthropic")
OFFER: dict[str, Any] = {"repositories": ("app", "site"), "runners": ("claude-code", "codex")}
AGENT = {
    "runners": ["codex"],
    "context": ["a.py"],
    "acceptance": ["no test is skipped"],
    "time_budget_minutes": 45,
    "cost_budget_dollars": 2.5,
}
WORKING = detail_answer(subtask_answer("mend", agent=AGENT))


def test_nothing_is_offered_without_repositories() -> None:
    for name in ("plan-answer", "detail-answer", "revision-answer"):
        assert offer_agents(schema_of(name), repositories=(), runners=()) == schema_of(name)
        assert "AgentAnswer" not in schema_of(name)["$defs"]


def test_what_is_offered_is_what_is_read() -> None:
    jsonschema.validate(WORKING, offer_agents(schema_of("detail-answer"), **OFFER))
    (subtask,) = DetailAnswer.model_validate(WORKING).to_subtasks()
    assert subtask.kind is SubtaskKind.AGENT
    assert subtask.agent == AgentWork(
        ("a.py",), ("no test is skipped",), "codex", time_budget=2700, cost_budget=2.5
    )
    assert subtask.timeout == 2700
    plain = detail_answer(subtask_answer("look", agent=None))
    jsonschema.validate(plain, offer_agents(schema_of("detail-answer"), **OFFER))
    assert DetailAnswer.model_validate(plain).to_subtasks()[0].kind is SubtaskKind.COMMAND
    steps = plan_answer(step_answer("one", repository="app"), step_answer("two", repository=""))
    jsonschema.validate(steps, offer_agents(schema_of("plan-answer"), **OFFER))
    plan = PlanAnswer.model_validate(steps).plan(AUTHOR, repositories=OFFER["repositories"])
    assert [step.repository for step in plan.steps] == ["app", None]


def test_a_repository_that_was_not_offered_is_refused() -> None:
    answer = PlanAnswer.model_validate(plan_answer(step_answer("one", repository="ap")))
    with pytest.raises(Rejected, match="did you mean 'app'"):
        answer.plan(AUTHOR, repositories=("app",))
    with pytest.raises(Rejected, match="'ap' is not offered"):
        answer.plan(AUTHOR)


def test_an_agent_that_was_not_offered_is_refused() -> None:
    listed = DetailAnswer.model_validate(WORKING).listed()
    guard = Guard(load_site(None).for_host("web1", ()))
    review = Reviewer(lambda _forbidden, _host: guard, proof_rules(), ("web1",))
    (fault,) = review.faults(listed)
    assert "no agent is offered here" in fault.reason
    assert replace(review, agents=True).faults(listed) == []
