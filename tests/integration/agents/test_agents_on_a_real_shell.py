"""Agents on a real shell, in workspaces of a real repository."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from shared.domain.agent import ExecutionMode, RunnerChoice, Trigger
from shared.domain.attempt import AgentResult, AgentStatus, Attempt
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.outcome import Outcome
from shared.domain.prediction import Prediction
from shared.domain.question import PassReply, Reply
from tests.fakes.gateway import scripted_gateway
from tests.fakes.scripted_agents import ScriptedRunner
from tests.integration.agents.conftest import Driving, agent
from tests.services.agent_programs import program_for_tests
from tests.unit.passes.given import MemoryLog, subtask
from workers.agents.runners.port import Capabilities, GatewayAccess
from workers.agents.runners.table import find_runner


def result(attempt: Attempt) -> AgentResult:
    assert isinstance(attempt.result, AgentResult)
    return attempt.result


def test_an_agent_changes_a_file_and_its_check_proves_it(driving: Driving) -> None:
    """In a workspace: the repository itself stays as it was."""
    goal = agent("echo new >app.py; echo 'use 12'; echo 'end ok all done'", "grep -q new app.py")
    done, log = driving.drive(goal, subtask("grep new app.py", key="s2", needs=("s1",)))
    assert done.ending is Ending.DONE
    worked, command = log.ended
    assert (worked.outcome, worked.command, worked.never_red) == (Outcome.OK, goal.command, False)
    found = result(worked)
    assert (found.status, found.summary) == (AgentStatus.OK, "all done")
    assert (found.changed_files, found.tokens, found.session) == (("app.py",), 12, "session")
    assert driving.show(found.tree, "app.py") == "new\n"
    assert command.outcome is Outcome.OK
    assert driving.repository.path is not None
    assert (Path(driving.repository.path) / "app.py").read_text() == "old\n"
    assert b"".join(chunk for _, _, chunk in log.outputs).startswith(b"use 12\n")


@pytest.mark.parametrize(
    ("check", "outcome"), [(None, Outcome.FAILED), ("grep -q new app.py", Outcome.CHECK_FAILED)]
)
def test_an_agent_that_does_nothing_has_failed(
    driving: Driving, check: str | None, outcome: Outcome
) -> None:
    """Though it exits with 0 and says that all is well."""
    _, log = driving.drive(agent("echo 'end ok all done'", check))
    assert log.ended[0].outcome is outcome


def test_an_agent_asks_and_its_session_goes_on_with_the_answer(driving: Driving) -> None:
    goal = agent(
        "test -e asked && exec touch answered; touch asked; "
        "echo 'ask Which one?'; echo 'end needs_input'",
        "test -e answered",
    )
    asked, log = driving.drive(goal)
    assert asked.ending is Ending.NEEDS_INPUT
    assert asked.question is not None
    assert asked.question.text == "Which one?"
    replies = [PassReply(0, 1, Reply("Which one?", "the first"))]
    done, log = driving.drive(goal, earlier=log.ended, pass_no=2, replies=replies)
    assert done.ending is Ending.DONE, log.ended


@pytest.mark.parametrize("lost", ["nothing", "session", "workspace"])
def test_an_answer_counts_whatever_became_of_the_session(
    driving: Driving, program: Path, lost: str
) -> None:
    """Without its session or its workspace, the work goes on from the last tree."""
    runners: list[ScriptedRunner] = []

    def runner_of(name: str, _: str | None) -> ScriptedRunner:
        can = Capabilities(resume=True, sessions="kept/{session}")
        runners.append(ScriptedRunner(name, program=str(program), capabilities=can))
        return runners[-1]

    own = replace(driving, agents=replace(driving.agents, runner_of=runner_of))
    keeps = 'mkdir "$HOME/kept"; touch "$HOME/kept/session"'
    goal = agent(
        f"test -e half && exec touch answered; touch half; {keeps}; "
        "echo 'ask Which one?'; echo 'end needs_input'",
        "test -e answered",
    )
    asked, log = own.drive(goal)
    assert asked.ending is Ending.NEEDS_INPUT
    if lost == "session":
        next(driving.folder.rglob("kept/session")).unlink()
    elif lost == "workspace":
        shutil.rmtree(next(driving.folder.rglob("half")).parents[1])
    reply = Reply("Which one?", "the first")
    replies = [PassReply(0, 1, reply)]
    done, log = own.drive(goal, earlier=log.ended, pass_no=2, replies=replies)
    assert done.ending is Ending.DONE, log.ended
    (made,) = (order for runner in runners for order in runner.orders if order.assignment.replies)
    assert (made.resumed is not None) is (lost == "nothing")
    assert made.assignment.replies == (reply,)


def test_the_next_runner_goes_on_from_what_the_first_left(driving: Driving) -> None:
    """The first one hangs until its time is up; all that it made is there."""
    chain = (RunnerChoice("slow", 1, 1.0), RunnerChoice("sure", 2, 60.0, Trigger.ON_TIMEOUT))
    goal = agent(
        "case $1 in slow) echo half >half; exec sleep 60;; sure) cat half >app.py;; esac",
        "grep -q half app.py",
        runners=chain,
    )
    done, log = driving.drive(goal)
    assert done.ending is Ending.DONE
    slow, sure = log.ended
    assert (slow.outcome, result(slow).runner) == (Outcome.TIMED_OUT, "slow")
    assert (sure.outcome, sure.correction, result(sure).runner) == (
        Outcome.OK,
        "next_runner",
        "sure",
    )
    assert result(sure).before == result(slow).tree
    assert driving.show(result(slow).tree, "half") == "half\n"


def test_the_result_of_an_agent_that_prints_much_is_read(driving: Driving) -> None:
    """The middle of its stream is not kept."""
    much = "yes say a line of fifty bytes or so, more or less long | head -n 60000"
    done, log = driving.drive(agent(f"echo x >new; {much}; echo 'use 7'; echo 'end ok done'"))
    assert done.ending is Ending.DONE
    assert (result(log.ended[0]).summary, result(log.ended[0]).tokens) == ("done", 7)


def test_another_driver_goes_on_with_a_running_agent(driving: Driving, tmp_path: Path) -> None:
    """It is started once; the first driver ended in the middle, when a snapshot had been taken."""
    gate = tmp_path / "gate"
    goal = agent(
        f'echo x >>"$HOME/started"; echo half >half; until [ -e {gate} ]; do sleep 0.1; done; '
        "echo whole >whole; echo 'end ok went on'"
    )
    driver = driving.begin(goal)
    driving.await_tree_with("half")
    driving.die(driver)
    gate.touch()
    done, log = driving.drive(goal, resumed=True)
    assert done.ending is Ending.DONE
    (started,) = driving.folder.rglob("started")
    assert started.read_text() == "x\n"
    found = result(log.ended[0])
    assert (found.summary, found.changed_files) == ("went on", ("half", "whole"))


def test_a_withdrawn_pass_ends_its_agent(driving: Driving) -> None:
    """Its work is kept."""
    log = MemoryLog(stop=lambda log: b"say started\n" in b"".join(c for _, _, c in log.outputs))
    done, log = driving.drive(agent("echo x >made; echo 'say started'; exec sleep 60"), log=log)
    assert done.ending is Ending.CANCELLED
    assert log.ended[0].outcome is Outcome.CANCELLED
    assert driving.show(result(log.ended[0]).tree, "made") == "x\n"


def test_a_dry_run_neither_sets_up_nor_starts_anything(driving: Driving, tmp_path: Path) -> None:
    made = tmp_path / "made"
    repository = replace(driving.repository, setup=f"touch {made}")
    dry = replace(driving, repository=repository)
    done, log = dry.drive(agent(f"touch {made}", "test -e none"), policy=Policy(dry_run_mode=True))
    assert done.ending is Ending.DONE
    assert log.ended[0].prediction is Prediction.WOULD_RUN
    assert not made.exists()


def test_the_real_claude_code_works_through_the_gateway(driving: Driving) -> None:
    """Its tokens are counted, its session is kept, and its token is the only key that it has."""
    turns = (
        [{"tool": "Bash", "input": {"command": "echo new >app.py; env >env.txt"}}],
        [
            {
                "tool": "StructuredOutput",
                "input": {"status": "ok", "summary": "Renewed.", "decisions": []},
            }
        ],
    )
    program = program_for_tests("claude-code")
    choice = RunnerChoice("claude-code", 1, command=str(program))
    goal = agent(
        "Put the word new into app.py",
        "grep -q new app.py",
        runners=(choice,),
        mode=ExecutionMode.AUTONOMOUS,
    )
    with scripted_gateway(*turns) as gateway:
        access = GatewayAccess(gateway.url, "the-token")
        agents = replace(driving.agents, runner_of=find_runner, access_of=lambda _: access)
        done, log = replace(driving, agents=agents).drive(goal)
    assert done.ending is Ending.DONE, log.ended
    found = result(log.ended[0])
    assert (found.status, found.summary, found.runner) == (
        AgentStatus.OK,
        "Renewed.",
        "claude-code",
    )
    assert found.changed_files == ("app.py", "env.txt")
    assert found.tokens
    assert found.session
    assert len(gateway.requests) == len(turns)
    assert "ANTHROPIC_API_KEY=the-token" in driving.show(found.tree, "env.txt")
