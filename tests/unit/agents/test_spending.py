"""An agent whose next call to a model cannot be paid."""

import json
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pytest

from shared.domain.agent import AgentWork, RunnerChoice
from shared.domain.attempt import AgentResult, AgentStatus, Attempt, EndedBy
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.outcome import Outcome
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.spending import Cap, CapReached
from tests.fakes.scripted_agents import ScriptedBench, ScriptedRunner
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import NOON, MemoryLog, attempt, ended, order, subtask
from workers.agents.agent_task import AgentTask
from workers.agents.assigning import Assigning
from workers.agents.chain import next_runner
from workers.agents.outcomes import agent_outcome
from workers.agents.running import AgentRuns
from workers.agents.task_text import Assignment
from workers.passes.history import History
from workers.passes.means import Try
from workers.passes.outcomes import STOPS

KEY = "R7-1-r0-1-p1-t0"
TASK = AgentTask(Try("mend it"), Assignment("mend it"), "scripted", "scripted", 60)
REACHED = CapReached(
    Cap.BUDGET, Decimal("0.05"), Decimal("0.04"), Decimal("0.02"), "m", "nothing is left"
)
LABEL = {"goal": "mend it", "remedy": None, "planned": None, "runner": "scripted"}
LABEL |= {"command": None, "name": "scripted", "tree": "tree0"}


@dataclass
class Account:
    """What agents were allowed, and the refusal that is noted."""

    reached: CapReached | None = REACHED
    allowed: list[tuple[str, float]] = field(default_factory=list)

    def allow(self, key: str, dollars: float) -> None:
        """Note it."""
        self.allowed.append((key, dollars))

    def cap_reached(self, key: str) -> CapReached | None:
        """The refusal."""
        assert key == KEY
        return self.reached


def runs(shell: ScriptedShell, account: Account, log: MemoryLog | None = None) -> AgentRuns:
    return AgentRuns(
        shell,
        ScriptedBench(),
        lambda *_: ScriptedRunner(),
        log or MemoryLog(),
        pass_name="p",
        spending=account,
    )


def test_it_may_spend_so_much_before_it_starts() -> None:
    account = Account(reached=None)
    shell = ScriptedShell(default=Answer(0, "end ok all done\n"))
    found = runs(shell, account).run(KEY, replace(TASK, cost_budget=0.05))
    assert (found.ok, found.unpaid, account.allowed) == (True, None, [(KEY, 0.05)])


def test_who_takes_it_over_lets_it_spend_so_much_again() -> None:
    """A failover of the database may have lost the row that its first driver wrote."""
    account, shell = Account(reached=None), ScriptedShell()
    shell.remember(KEY, "agent", ended("agent", 0, stdout="end ok all done\n"), json.dumps(LABEL))
    found = runs(shell, account).run(KEY, replace(TASK, cost_budget=0.05))
    assert (found.ok, account.allowed) == (True, [(KEY, 0.05)])


@pytest.mark.parametrize(
    ("stdout", "unwanted", "ended_by", "unpaid"),
    [
        ("say hello\n", set(), EndedBy.SPENDING, REACHED),
        ("say hello\n", {KEY}, EndedBy.CANCEL, REACHED),
        ("end error 402\n", set(), None, REACHED),
        ("end ok it was not needed\n", set(), None, None),
    ],
)
def test_any_driver_tells_that_it_could_not_pay(
    stdout: str, unwanted: set[str], ended_by: EndedBy | None, unpaid: CapReached | None
) -> None:
    """Also one that finds it ended by a driver before it."""
    shell = ScriptedShell()
    killed = replace(ended("agent", None, stdout=stdout), ended_by=EndedBy.CANCEL)
    shell.remember(KEY, "agent", killed, json.dumps(LABEL))
    found = runs(shell, Account(), MemoryLog(unwanted_keys=unwanted)).run(KEY, TASK)
    assert (found.ended_by, found.unpaid) == (ended_by, unpaid)


def agent_result(**said: Any) -> AgentResult:
    """A result that could not be paid for."""
    made = AgentResult(AgentStatus.ERROR, "402", NOON, NOON, runner="first", session="s")
    return replace(made, unpaid=REACHED, **said)


@pytest.mark.parametrize("ended_by", [None, EndedBy.SPENDING, EndedBy.TIMEOUT])
def test_it_has_not_failed(ended_by: EndedBy | None) -> None:
    result = agent_result(ended_by=ended_by, tree="t", before="b")
    assert agent_outcome(result, None) == (Outcome.OVER_BUDGET, "nothing is left")
    red, green = ended("check", 1), ended("check", 0)
    assert agent_outcome(result, red)[0] is Outcome.OVER_BUDGET
    assert agent_outcome(result, green)[0] is Outcome.OK, "its check decides all the same"
    assert STOPS[Outcome.OVER_BUDGET] is Ending.OVER_BUDGET


def unpaid_attempt(**said: Any) -> Attempt:
    made = attempt(outcome=Outcome.OVER_BUDGET)
    return replace(made, result=agent_result(), **said)


CHAIN = (RunnerChoice("first", 1), RunnerChoice("second", 2))
WORK = AgentWork(runners=CHAIN)


def goal() -> Subtask:
    """The goal of an agent, with the chain."""
    return subtask("mend it", kind=SubtaskKind.AGENT, agent=WORK)


def test_no_other_runner_is_entered_for_it() -> None:
    entered = next_runner(CHAIN, WORK, [unpaid_attempt()])
    assert entered is not None
    assert entered.choice.runner == "first"


def test_its_session_goes_on_in_the_next_pass() -> None:
    earlier = unpaid_attempt(pass_no=1, key="a")
    what = order(goal(), earlier=(earlier,), pass_no=2, policy=Policy(agent_cost_budget=0.5))
    task = Assigning(what, runner="first").task(what.subtasks[0], Try("mend it"))
    assert task.resumed is not None
    assert (task.resumed.session, task.resumed.answers, task.home) == ("s", (), "a")
    assert (task.runner, task.cost_budget) == ("first", 0.5)


def test_what_had_failed_before_it_stays_counted() -> None:
    failed = replace(attempt(outcome=Outcome.FAILED), key="a")
    passes = (failed, unpaid_attempt(key="b", number=2))
    assert History(order(goal(), earlier=passes, pass_no=2)).errors == 1


@pytest.mark.parametrize(
    ("limit", "spent", "question", "enough"),
    [
        ("0.05", "0.04", "0.02", "0.12"),
        ("0.05", "0.0512", "0.02", "0.11"),
        ("5", "4.9", "1", "11.80"),
    ],
)
def test_the_proposed_budget_is_enough(limit: str, spent: str, question: str, enough: str) -> None:
    amounts = Decimal(limit), Decimal(spent), Decimal(question)
    reached = CapReached(Cap.BUDGET, *amounts, "m")
    assert reached.enough == Decimal(enough)
    assert reached.is_met_by(reached.enough)
    assert reached.is_met_by(Decimal(0))
    assert not reached.is_met_by(Decimal(limit))


@pytest.mark.parametrize(
    ("limit", "spent", "enough"),
    [("60000", "60000", "100000"), ("100000", "99999.5", "0"), ("100000", "100001", "0")],
)
def test_the_proposed_budget_is_one_that_may_be_set(limit: str, spent: str, enough: str) -> None:
    """Where none is large enough, it is 0: no limit."""
    reached = CapReached(Cap.BUDGET, Decimal(limit), Decimal(spent), Decimal(1), "m")
    assert reached.enough == Decimal(enough)
    assert reached.is_met_by(reached.enough)
