"""How a person's answers reach the agents of a step."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from shared.domain.agent import AgentWork, RunnerChoice
from shared.domain.attempt import AgentResult, AgentStatus, Attempt
from shared.domain.outcome import Outcome
from shared.domain.plan import SubtaskKind
from shared.domain.question import PassReply, Question, Reply
from tests.fakes.scripted_agents import ScriptedBench, ScriptedRunner
from tests.fakes.scripted_shell import ScriptedShell
from tests.unit.passes.given import NOON, MemoryLog, attempt, order, subtask
from workers.agents.agent_task import AgentTask
from workers.agents.assigning import Assigning
from workers.agents.runners.port import AnsweredCall, Capabilities, Resumed
from workers.agents.runners.table import RUNNERS
from workers.agents.running import AgentRuns
from workers.agents.sessions import session_look
from workers.passes.means import Try

GOAL = subtask("mend it", kind=SubtaskKind.AGENT, agent=AgentWork(runner="claude-code"))
DB, PORT = Reply("Which DB?", "SQLite"), Reply("Which port?", "8080")


def asked(question: str, pass_no: int, call: str = "", session: str = "s1") -> Attempt:
    """An attempt that ended with a question."""
    result = AgentResult(
        AgentStatus.NEEDS_INPUT,
        "",
        NOON,
        NOON,
        runner="claude-code",
        session=session,
        question=Question(question),
        call=call,
    )
    made = attempt(outcome=Outcome.NEEDS_INPUT, pass_no=pass_no)
    return replace(made, key=f"k{pass_no}", result=result)


FIRST, SECOND = asked("Which DB?", 1, "c1"), asked("Which port?", 2, "c2")
REPLIES = (PassReply(0, 1, DB), PassReply(0, 2, PORT))


def task(
    earlier: Sequence[Attempt],
    replies: Sequence[PassReply] = REPLIES,
    *,
    pass_no: int = 3,
    work: AgentWork | None = None,
) -> AgentTask:
    """The next task."""
    goal = replace(GOAL, agent=work or GOAL.agent)
    what = replace(order(goal, earlier=earlier, pass_no=pass_no), replies=tuple(replies))
    return Assigning(what, runner="claude-code").task(what.subtasks[0], Try("mend it"))


def test_a_session_gets_all_its_answers_in_order() -> None:
    made = task([FIRST, SECOND])
    answers = (AnsweredCall("c1", "Which DB?", "SQLite"), AnsweredCall("c2", "Which port?", "8080"))
    assert (made.resumed, made.home) == (Resumed("s1", answers), "k1")
    assert made.assignment.replies == (DB, PORT)


@pytest.mark.parametrize(
    ("earlier", "resumed"),
    [
        ([FIRST, asked("Which port?", 2, "c2", session="s2")], "s2"),
        ([FIRST, replace(FIRST, pass_no=2, outcome=Outcome.FAILED)], None),  # it was answered
        ([FIRST, attempt(outcome=Outcome.NEEDS_APPROVAL, pass_no=2)], "s1"),  # nothing ran
        ([asked("Which DB?", 1, session="")], None),
        ([replace(SECOND, pass_no=9)], None),  # nobody has answered it
        ([replace(FIRST, revision=1)], None),
    ],
)
def test_only_a_session_that_waits_for_the_answer_goes_on(
    earlier: list[Attempt], resumed: str | None
) -> None:
    """What does not go on is told all answers."""
    made = task(earlier, pass_no=10)
    assert (made.resumed.session if made.resumed else None) == resumed
    assert made.assignment.replies == (DB, PORT)


def test_another_runner_is_told_the_answers_and_gets_no_session() -> None:
    made = task([FIRST], work=AgentWork(runner="codex"))
    assert (made.resumed, made.home) == (None, None)
    assert made.assignment.replies == (DB, PORT)


def test_the_runner_that_asked_goes_on_though_it_was_not_the_first() -> None:
    failed = attempt(outcome=Outcome.FAILED)
    result = AgentResult(AgentStatus.ERROR, "", NOON, NOON, runner="codex")
    work = AgentWork(runners=(RunnerChoice("codex", 1), RunnerChoice("claude-code", 2)))
    made = task([replace(failed, result=result), FIRST], pass_no=2, work=work)
    assert made.name == "claude-code"
    assert made.resumed is not None


def test_what_a_person_said_before_the_step_began_is_told_too() -> None:
    what = order(GOAL)
    what = replace(what, step=replace(what.step, ask_question="Which DB?", answer="SQLite"))
    made = Assigning(what, runner="claude-code").task(what.subtasks[0], Try("mend it"))
    assert made.assignment.replies == (DB,)
    assert "Asked: Which DB?\nAnswered: SQLite" in str(made.assignment)


@pytest.mark.parametrize(("kept", "goes_on"), [(0, True), (1, False)])
def test_a_session_that_the_host_no_longer_has_is_begun_again(kept: int, goes_on: bool) -> None:
    """In a home of its own, with the whole task."""
    runner = ScriptedRunner("claude-code", capabilities=Capabilities(resume=True))
    look = "for each in /homes/k1/; do"
    shell = ScriptedShell({re.compile(look): kept}, default=0)
    runs = AgentRuns(shell, ScriptedBench(), lambda *_: runner, MemoryLog(), pass_name="p")
    runs.run("k2", task([FIRST], pass_no=2))
    (made,) = runner.orders
    assert (made.resumed is not None) is goes_on
    assert made.home == ("/homes/k1" if goes_on else "/homes/k2")
    assert (made.message is None) is goes_on, "its call is answered, or it is told everything"


@pytest.mark.parametrize(
    ("runner", "file"),
    [
        ("claude-code", ".claude/projects/-work-tree/{}.jsonl"),
        ("codex", "codex/sessions/2026/11/22/rollout-2026-11-22T21-00-00-{}.jsonl"),
    ],
)
@pytest.mark.parametrize("session", ["0f0e0d0c-1111", "$(touch canary) '\" *"])
def test_a_session_is_looked_for_where_its_runner_keeps_it(
    tmp_path: Path, runner: str, file: str, session: str
) -> None:
    home = tmp_path / "the home"
    look = session_look(RUNNERS[runner].capabilities, str(home), session)
    assert subprocess.run(["sh", "-c", look], cwd=tmp_path, check=False).returncode == 1
    path = home / file.format(session)
    path.parent.mkdir(parents=True)
    path.touch()
    assert subprocess.run(["sh", "-c", look], cwd=tmp_path, check=False).returncode == 0
    assert not (tmp_path / "canary").exists()
