"""Agents that make no progress, and agents that break the protocol, on a real shell."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from shared.domain.agent import (
    Compliance,
    ExecutionMode,
    RunnerChoice,
    StuckStrategy,
    Trigger,
    Watchdog,
)
from shared.domain.attempt import AgentResult, Attempt, EndedBy, Signal
from shared.domain.budget import Ending
from shared.domain.compliance import ProtocolRule
from shared.domain.outcome import Outcome
from tests.fakes.scripted_agents import ScriptedRunner
from tests.integration.agents.conftest import Driving, agent
from workers.agents import running
from workers.agents.runners.port import Capabilities

CHAIN = (RunnerChoice("stuck", 1), RunnerChoice("sure", 2, trigger=Trigger.ON_TIMEOUT))


def result(attempt: Attempt) -> AgentResult:
    """What the agent did."""
    assert isinstance(attempt.result, AgentResult)
    return attempt.result


def test_s4_35_s4_46_s4_47_a_runner_that_hangs_is_ended_and_the_next_goes_on_from_its_tree(
    driving: Driving,
) -> None:
    """With all that it started, also what has detached itself."""
    goal = agent(
        "case $1 in stuck) echo half >half; echo 'say hm'; setsid sleep 600 & sleep 600;; "
        "sure) cat half >app.py; echo 'end ok done';; esac",
        "grep -q half app.py",
        runners=CHAIN,
        watchdog=Watchdog(check_interval=1.0, strategy=StuckStrategy.NEXT_RUNNER),
    )
    done, log = driving.drive(goal)
    assert done.ending is Ending.DONE, log.ended
    stuck, sure = log.ended
    assert (stuck.outcome, stuck.ended_by) == (Outcome.FAILED, EndedBy.WATCHDOG)
    assert (result(stuck).stuck, result(stuck).left_over) == (1, ())
    assert (sure.outcome, result(sure).runner) == (Outcome.OK, "sure")
    assert result(sure).before == result(stuck).tree


def test_a_runner_that_will_not_end_is_ended_with_all_that_it_started(
    driving: Driving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It prints much, gives its result, hangs, and ignores signals; so does what it detached."""
    monkeypatch.setattr(running, "LINGER", 1.0)
    deaf = "trap '' INT TERM HUP"
    much = "yes say a line of fifty bytes or so, more or less long | head -c 50000000"
    daemon = f'( setsid sh -c "{deaf}; sleep 600 & sleep 600" >/dev/null 2>&1 & )'
    goal = agent(f"{deaf}; {daemon}; {much}; echo x >new; echo; echo 'end ok done'; exec sleep 600")
    done, log = driving.drive(goal)
    assert done.ending is Ending.DONE, log.ended
    made = result(log.ended[0])
    assert (made.summary, made.signal, made.left_over) == ("done", Signal.KILL, ())
    assert made.changed_files == ("new",)
    assert processes_of(log.ended[0].key, driving.token) == []


def processes_of(key: str, token: str) -> list[str]:
    """The processes that an attempt has started, wherever they have gone."""
    found = []
    for each in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            names = each.read_bytes()
            if f"/{key}\0".encode() in names and token.encode() in names:
                found.append(each.parent.name)
    return found


def test_a_tool_that_says_nothing_but_works_is_not_stuck(driving: Driving) -> None:
    """Three times the interval long; its processes burn time all the while."""
    busy = "timeout 3 sh -c 'while :; do :; done'"
    goal = agent(
        f"{busy}; echo x >new; echo 'end ok done'",
        watchdog=Watchdog(check_interval=1.0, strategy=StuckStrategy.KILL_AND_RETRY),
    )
    _, log = driving.drive(goal)
    assert [(each.outcome, result(each).stuck) for each in log.ended] == [(Outcome.OK, 0)]


def test_s4_38_to_s4_44_what_an_autonomous_agent_did_is_judged(driving: Driving) -> None:
    """It asked, and left no handoff; that fails it although its check is green."""
    program = str(driving.folder.parent / "agent")
    told = Capabilities(events=True)
    driving.agents = replace(
        driving.agents,
        runner_of=lambda name, _: ScriptedRunner(name, program=program, capabilities=told),
    )
    goal = agent(
        "echo new >app.py; echo 'ask Which one?'; echo 'end ok done'",
        "grep -q new app.py",
        mode=ExecutionMode.AUTONOMOUS,
        compliance=Compliance(fail_on_violation=True),
    )
    _, log = driving.drive(goal)
    attempt = log.ended[0]
    assert [each.rule for each in result(attempt).violations] == [
        ProtocolRule.NO_QUESTIONS_TO_USER,
        ProtocolRule.DOCUMENT_DECISIONS,
    ]
    assert attempt.outcome is Outcome.FAILED
    assert "Used AskUserQuestion tool in autonomous mode" in attempt.reason


def test_s4_39_an_agent_that_documents_its_decisions_is_compliant(driving: Driving) -> None:
    goal = agent(
        "mkdir -p framework/docs; echo 'step: nothing to decide' >framework/docs/handoff.md; "
        "echo 'end ok done'",
        mode=ExecutionMode.AUTONOMOUS,
    )
    _, log = driving.drive(goal)
    assert (log.ended[0].outcome, result(log.ended[0]).violations) == (Outcome.OK, ())
