"""One attempt of an agent, over a scripted shell."""

import json
import threading
from dataclasses import asdict, replace

import pytest

from shared.domain.agent import StuckStrategy
from shared.domain.attempt import AgentStatus, EndedBy
from shared.domain.attempt_notes import AgentState, EntryReason, FoundStuck, RunnerEntered
from shared.domain.errors import Transient
from tests.fakes.scripted_agents import LineReader, ScriptedBench, ScriptedRunner
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import MemoryLog, ended
from workers.agents.agent_task import AgentTask
from workers.agents.follower import Follower
from workers.agents.heartbeat import Heartbeat
from workers.agents.label import AgentLabel
from workers.agents.runners.table import find_runner
from workers.agents.running import AgentRuns
from workers.agents.task_text import Assignment
from workers.passes.means import Try
from workers.shells.remote.capture import Capture

KEY = "R7-1-r0-1-p1-t0"
TASK = AgentTask(Try("mend it"), Assignment("mend it"), "scripted", "scripted", 60)


def runs(shell: ScriptedShell, log: MemoryLog | None = None) -> AgentRuns:
    return AgentRuns(
        shell, ScriptedBench(), lambda *_: ScriptedRunner(), log or MemoryLog(), pass_name="p"
    )


def test_the_result_is_what_runner_and_workspace_say() -> None:
    log = MemoryLog()
    shell = ScriptedShell(default=Answer(0, "use 12\nend ok all done\n"))
    found = runs(shell, log).run(KEY, TASK)
    assert (found.status, found.summary, found.tokens) == (AgentStatus.OK, "all done", 12)
    assert (found.before, found.tree, found.changed_files) == (
        "tree0",
        "tree1",
        ("changed-in-tree1",),
    )
    assert [chunk for _, _, chunk in log.outputs] == [b"use 12\nend ok all done\n"]
    assert shell.calls[0].key == KEY


def test_the_result_tells_where_the_work_began_that_it_went_on_with() -> None:
    shell = ScriptedShell(default=Answer(0, "end ok all done\n"))
    first = runs(shell).run(KEY, TASK)
    assert (first.before, first.began) == ("tree0", "tree0")
    bench = ScriptedBench(trees=("tree1",))
    second = replace(runs(shell), bench=bench).run(f"{KEY}b", replace(TASK, earlier=(first,)))
    assert (second.before, second.tree, second.began) == ("tree1", "tree1", "tree0")


def test_an_agent_is_not_started_without_the_files_that_it_must_read() -> None:
    """It would cost something; which ones are missing is its result."""
    shell = ScriptedShell(default=Answer(0, "101"))
    task = replace(TASK, assignment=Assignment("mend it", context=("a.py", "b.py", "c.py")))
    found = runs(shell).run(KEY, task)
    assert found.status is AgentStatus.ERROR
    assert "names 'b.py', which the workspace does not have" in found.summary
    assert [call.key for call in shell.calls] == [None]


@pytest.mark.parametrize(
    ("stdout", "unwanted", "ended_by"),
    [
        ("say hello\n", {KEY}, EndedBy.CANCEL),
        ("say hello\n", set(), EndedBy.WATCHDOG),
        ("end ok but it lingers\n", set(), None),
    ],
)
def test_who_ended_it_is_told_apart(
    stdout: str, unwanted: set[str], ended_by: EndedBy | None
) -> None:
    """What no person has ended, a rule did: this driver's, or that of one before it."""
    shell = ScriptedShell()
    killed = replace(ended("agent", None, stdout=stdout), ended_by=EndedBy.CANCEL)
    shell.remember(KEY, "agent", killed, json.dumps(LABEL))
    log = MemoryLog(unwanted_keys=unwanted)
    assert runs(shell, log).run(KEY, TASK).ended_by is ended_by


LABEL = {"goal": "mend it", "remedy": None, "planned": None, "runner": "scripted"}
LABEL |= {"command": None, "name": "scripted", "tree": "tree0"}


def test_people_are_told_which_runner_enters_from_which_tree() -> None:
    log = MemoryLog()
    task = replace(TASK, entry=EntryReason.STUCK, after="codex")
    runs(ScriptedShell(default=Answer(0, "end ok\n")), log).run(KEY, task)
    assert log.notes == [
        (KEY, RunnerEntered("scripted", "tree0", EntryReason.STUCK, "codex")),
    ]


@pytest.mark.parametrize("was_told", [True, False])
def test_who_takes_an_agent_over_tells_what_nobody_was_told(*, was_told: bool) -> None:
    """Its first driver was killed after that, or before."""
    shell, log = ScriptedShell(), MemoryLog()
    shell.remember(KEY, "agent", ended("agent", 0, stdout="end ok\n"), json.dumps(LABEL))
    entered = RunnerEntered("scripted", "tree0")
    stuck = FoundStuck(AgentState.MODEL, 301, 300, StuckStrategy.NOTIFY)
    known = (entered, stuck) if was_told else ()
    found = replace(runs(shell, log), notes_of=lambda _: known).run(KEY, TASK)
    assert log.notes == ([] if was_told else [(KEY, entered)])
    assert found.stuck == (1 if was_told else 0)


def test_a_result_is_read_though_the_middle_is_not_kept() -> None:
    """And nothing of it came while it ran."""
    capture = Capture("stdout", limit=200)
    stream = b"".join(b"say line %d\n" % number for number in range(200)) + b"end ok at last\n"
    capture.take(stream)
    result = replace(ended("agent"), stdout=capture.content(), stdout_dropped=capture.dropped)
    heard: list[object] = []
    follower = Follower(LineReader, lambda *_: None, heard.extend)
    follower.read_rest(result)
    assert follower.outcome(result, None).summary == "at last"
    assert len(heard) < 30


def test_a_heartbeat_survives_a_beat_that_fails() -> None:
    beaten: list[int] = []
    enough = threading.Event()

    def beat() -> None:
        beaten.append(len(beaten))
        if len(beaten) > 2:
            enough.set()
        raise OSError("the host is away")

    with Heartbeat(0.001, beat):
        assert enough.wait(10)
    assert len(beaten) > 2


@pytest.mark.parametrize("started", [False, True])
def test_a_worker_without_the_runner_leaves_the_attempt_to_another(*, started: bool) -> None:
    """It counts as no error, and what runs goes on: nothing is started, ended or judged."""
    shell = ScriptedShell()
    if started:
        label = AgentLabel("mend it", None, None, "from-the-future", None, "x", "tree0")
        written = json.dumps(asdict(label) | {"more": "from a newer worker"})
        shell.remember(KEY, "agent", ended("agent", None), written)
    found = replace(runs(shell), runner_of=find_runner)
    task = replace(TASK, runner="from-the-future")
    with pytest.raises(Transient, match="this worker does not know the runner 'from-the-future'"):
        found.run(KEY, task)
    assert shell.calls == []
