"""A person approves a goal with its runners: the next of them needs no other approval."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.agent import AgentRemedy, AgentWork, RunnerChoice
from shared.domain.attempt import AgentResult, AgentStatus, Attempt
from shared.domain.budget import Ending
from shared.domain.config import PLAN, Policy
from shared.domain.outcome import Outcome
from shared.domain.plan import SubtaskKind
from tests.fakes.scripted_agents import ScriptedBench, ScriptedRunner
from tests.fakes.scripted_shell import ScriptedShell
from tests.unit.passes.given import (
    NOON,
    MemoryLog,
    OnceApproved,
    ScriptedJudge,
    SteppingClock,
    attempt,
    order,
    shell_means,
    subtask,
)
from workers.agents.assigning import Assigning
from workers.agents.means import AgentMeans
from workers.agents.running import AgentRuns
from workers.passes.passes import carry_out
from workers.passes.ports import PassResult

GOAL = "mend it"
FIRST, SECOND, THIRD = "R7-1-r0-1-p1-t0", "R7-1-r0-1-p1-t1", "R7-1-r0-1-p1-t2"
WORK = AgentWork(
    runners=(
        RunnerChoice("one", 1, command="ask one"),
        RunnerChoice("two", 2, command="ask two"),
        RunnerChoice("three", 3, command="ask three"),
    )
)


def tried(
    ends: Mapping[str, int],
    approvals: OnceApproved,
    *,
    approve: str | None = "ask",
    policy: Policy | None = None,
    earlier: tuple[Attempt, ...] = (),
    pass_no: int = 1,
    **fields: Any,
) -> tuple[PassResult, list[Attempt]]:
    """Have the runners try the goal, each ending with that exit code; stop a loop that is endless.

    The check is green as soon as a runner ends with 0.
    """
    one = subtask(GOAL, kind=SubtaskKind.AGENT, agent=WORK, check="look", **fields)
    policy = policy or Policy(error_threshold_per_step=9)
    what = order(one, policy=policy, earlier=earlier, pass_no=pass_no)
    log = MemoryLog(stop=lambda log: len(log.ended) > 9)
    done: list[int] = []

    def work(command: str) -> int:
        name = command.partition(" agent ")[2].split()[0]
        done.append(ends[name])
        return done[-1]

    shell = ScriptedShell(
        {"look": lambda _: 0 if 0 in done else 1, re.compile(" agent "): work}, default=None
    )
    runs = AgentRuns(
        shell, ScriptedBench(), lambda name, _: ScriptedRunner(name), log, pass_name="p"
    )
    clock = SteppingClock()
    shells = shell_means(what, shell, ScriptedJudge(approve=approve), log, clock)
    means = AgentMeans(shells, runs, Assigning(what, runner="one"), ScriptedJudge(), what.subtasks)
    result = carry_out(what, means, log, clock, approvals=approvals, settle=())
    return result, log.ended


ENDS = {"one": 1, "two": 1, "three": 0}


@pytest.mark.parametrize(
    "why",
    [
        {},
        {"approve": None, "critical": True},
        {"approve": None, "policy": Policy(autonomy=PLAN, error_threshold_per_step=9)},
    ],
    ids=["its runners are asked about", "critical", "plan"],
)
def test_who_approves_a_goal_approves_all_its_runners(why: dict[str, Any]) -> None:
    """One approval, used up by the first runner, lasts to the end of the chain."""
    approvals = OnceApproved({GOAL})
    result, attempts = tried(ENDS, approvals, **why)
    assert [(a.key, a.outcome, a.correction) for a in attempts] == [
        (FIRST, Outcome.FAILED, None),
        (SECOND, Outcome.FAILED, AgentRemedy.NEXT_RUNNER),
        (THIRD, Outcome.OK, AgentRemedy.NEXT_RUNNER),
    ]
    assert result.ending is Ending.DONE
    assert approvals.used == {GOAL: FIRST}


def test_the_chain_ends_though_all_runners_fail() -> None:
    result, attempts = tried({**ENDS, "three": 1}, OnceApproved({GOAL}))
    assert [a.outcome for a in attempts] == [Outcome.FAILED] * 3
    assert result.ending is Ending.INCOMPLETE


def test_without_an_approval_none_of_them_starts() -> None:
    result, attempts = tried(ENDS, OnceApproved(set()))
    assert [(a.outcome, a.correction) for a in attempts] == [(Outcome.NEEDS_APPROVAL, None)]
    assert result.ending is Ending.NEEDS_APPROVAL


def test_the_next_driver_of_the_pass_has_the_approval_too() -> None:
    _, attempts = tried(ENDS, OnceApproved({GOAL}))
    approvals = OnceApproved({GOAL}, {GOAL: FIRST})
    result, more = tried(ENDS, approvals, earlier=tuple(attempts[:2]))
    assert [(a.key, a.outcome) for a in more] == [(THIRD, Outcome.OK)]
    assert result.ending is Ending.DONE


@pytest.mark.parametrize("outcome", [Outcome.NEEDS_INPUT, Outcome.OVER_BUDGET])
def test_the_approval_lasts_while_an_agent_waits_for_a_person(outcome: Outcome) -> None:
    """The work that was approved goes on with an answer or money, and with the next runner."""
    result = AgentResult(AgentStatus.NEEDS_INPUT, "", NOON, NOON, runner="one")
    asked = replace(attempt(outcome=outcome, command=GOAL), result=result)
    again = replace(asked, key="R7-1-r0-1-p2-t0", pass_no=2)
    approvals = OnceApproved({GOAL}, {GOAL: FIRST})
    result_, more = tried({**ENDS, "two": 0}, approvals, earlier=(asked, again), pass_no=3)
    assert [(a.outcome, a.correction) for a in more] == [
        (Outcome.FAILED, None),
        (Outcome.OK, AgentRemedy.NEXT_RUNNER),
    ]
    assert result_.ending is Ending.DONE
    assert approvals.used == {GOAL: FIRST}


def test_an_approval_is_used_up_once_the_pass_is_over() -> None:
    _, attempts = tried({**ENDS, "three": 1}, OnceApproved({GOAL}))
    approvals = OnceApproved({GOAL}, {GOAL: FIRST})
    _, more = tried(ENDS, approvals, earlier=tuple(attempts), pass_no=2)
    assert [a.outcome for a in more] == [Outcome.NEEDS_APPROVAL]


def test_an_approval_that_no_longer_holds_starts_no_other_runner() -> None:
    """It has expired, or what it binds has changed: that is recorded once, and the tries end."""
    _, attempts = tried(ENDS, OnceApproved({GOAL}))
    result, more = tried(ENDS, OnceApproved(set()), earlier=tuple(attempts[:1]))
    assert [(a.outcome, a.correction) for a in more] == [
        (Outcome.NEEDS_APPROVAL, AgentRemedy.NEXT_RUNNER)
    ]
    assert result.ending is Ending.INCOMPLETE
