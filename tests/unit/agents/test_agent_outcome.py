"""The outcome of an attempt of an agent, from its result, its check and its work."""

import pytest

from shared.domain.agent import AgentWork, ExecutionMode
from shared.domain.attempt import AgentResult, AgentStatus, CommandResult, Outcome
from shared.domain.question import Question
from tests.unit.passes.given import NOON, ended
from workers.agents.outcomes import agent_outcome

AUTONOMOUS = AgentWork(mode=ExecutionMode.AUTONOMOUS)
ASKED = AgentResult(
    AgentStatus.NEEDS_INPUT, "", NOON, NOON, tree="t1", before="t0", question=Question("Which DB?")
)
RED, GREEN = ended("test", 1), ended("test")


@pytest.mark.parametrize("work", [None, AgentWork(), AgentWork(mode=ExecutionMode.INTERACTIVE)])
@pytest.mark.parametrize("check", [None, RED])
def test_an_agent_that_may_ask_has_not_failed(
    work: AgentWork | None, check: CommandResult | None
) -> None:
    assert agent_outcome(ASKED, check, work) == (Outcome.NEEDS_INPUT, "Which DB?")


@pytest.mark.parametrize("check", [None, RED])
def test_an_agent_that_must_not_ask_has_failed_and_waits_for_nobody(
    check: CommandResult | None,
) -> None:
    outcome, reason = agent_outcome(ASKED, check, AUTONOMOUS)
    assert outcome is Outcome.FAILED
    assert reason == "it works without a person, but asks: Which DB?"


def test_a_question_is_no_matter_once_the_check_is_green() -> None:
    assert agent_outcome(ASKED, GREEN, AUTONOMOUS)[0] is Outcome.OK
