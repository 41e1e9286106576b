"""The outcome of an attempt of an agent, from its result, its check and its work."""

from dataclasses import replace

import pytest

from shared.domain.agent import AgentWork, ExecutionMode
from shared.domain.attempt import AgentResult, AgentStatus, CommandResult
from shared.domain.outcome import Outcome
from shared.domain.question import Question
from tests.unit.passes.given import NOON, ended
from workers.agents.events import EndReason
from workers.agents.outcomes import agent_outcome, began_with, why_not_started
from workers.agents.runners.port import RunnerOutcome

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


def done(before: str | None, tree: str | None) -> AgentResult:
    """An attempt that found a tree and left one."""
    return AgentResult(AgentStatus.OK, "", NOON, NOON, before=before, tree=tree)


@pytest.mark.parametrize(
    ("earlier", "began"),
    [
        ([], "t2"),
        ([done("t1", "t2")], "t1"),
        ([done("t0", "t1"), done("t1", "t2")], "t0"),
        ([done("t0", "t2"), done("t2", "t2")], "t0"),
        ([done("t1", "t2"), done(None, None)], "t1"),  # the last one could not be started
        ([done("t0", "t1")], "t2"),  # somebody else came to t2
        ([done("t0", "t0"), done("t1", "t2")], "t1"),
    ],
)
def test_an_agent_goes_on_with_the_work_of_those_before_it(
    earlier: list[AgentResult], began: str
) -> None:
    assert began_with("t2", earlier) == began


@pytest.mark.parametrize(
    ("began", "outcome"),
    [("t0", Outcome.OK), ("t1", Outcome.FAILED), (None, Outcome.FAILED)],
)
def test_without_a_check_finished_work_may_be_found_complete(
    began: str | None, outcome: Outcome
) -> None:
    found = replace(done("t1", "t1"), began=began)
    assert agent_outcome(found, None)[0] is outcome


def test_work_that_was_taken_back_is_none() -> None:
    assert agent_outcome(replace(done("t1", "t0"), began="t0"), None)[0] is Outcome.FAILED


ABSENT = RunnerOutcome(
    AgentStatus.BLOCKED, EndReason.NOT_STARTED, detail="env: 'claude': No such file or directory"
)


@pytest.mark.parametrize("check", [None, RED, GREEN])
def test_an_agent_that_is_not_there_has_failed_though_the_check_is_green(
    check: CommandResult | None,
) -> None:
    why = why_not_started("claude-code", ABSENT, 127)
    assert why == (
        "claude-code is not installed on the host: env: 'claude': No such file or directory"
    )
    found = replace(done("t1", "t1"), status=AgentStatus.BLOCKED, not_started=why)
    assert agent_outcome(found, check) == (Outcome.FAILED, why)


def test_a_runner_that_began_was_started_whatever_came_of_it() -> None:
    assert why_not_started("acp", replace(ABSENT, reason=EndReason.FAILED), 127) == ""
    assert "could not be started" in why_not_started("acp", ABSENT, 1)
