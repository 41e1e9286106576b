"""mini-swe-agent: a made-up `mini` is started with its task, and its end is told."""

import json
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from shared.domain.attempt import AgentStatus
from shared.domain.errors import Rejected
from workers.agents.events import EndReason
from workers.agents.runners.mini_swe_agent import MiniSweAgent
from workers.agents.runners.port import AgentOrder, GatewayAccess, Resumed, RunnerOutcome
from workers.agents.runners.script import script
from workers.agents.task_text import Assignment

TASK = 'Make $(touch hacked) the "database".'


@pytest.mark.parametrize(
    ("end", "status", "reason"),
    [
        ("Submitted", AgentStatus.OK, EndReason.COMPLETED),
        ("LimitsExceeded", AgentStatus.PARTIAL, EndReason.TURN_LIMIT),
        ("TimeExceeded", AgentStatus.PARTIAL, EndReason.TURN_LIMIT),
        ("RepeatedFormatError", AgentStatus.ERROR, EndReason.FAILED),
        ("AuthenticationError", AgentStatus.ERROR, EndReason.MODEL_REFUSED),
        ("RateLimitError", AgentStatus.ERROR, EndReason.MODEL_UNAVAILABLE),
        ("ContextWindowExceededError", AgentStatus.ERROR, EndReason.CONTEXT_FULL),
    ],
)
def test_its_end_is_told(tmp_path: Path, end: str, status: AgentStatus, reason: EndReason) -> None:
    info = {"exit_status": end, "submission": "It is there.\n"}
    outcome = run(tmp_path, json.dumps({"info": info}))
    assert (outcome.status, outcome.reason) == (status, reason)
    assert outcome.summary == ("It is there." if status is AgentStatus.OK else "")


@pytest.mark.parametrize("trajectory", ["", "{", "{}", '{"info": {}}'])
def test_without_a_trajectory_there_is_no_success(tmp_path: Path, trajectory: str) -> None:
    assert run(tmp_path, trajectory).status is AgentStatus.ERROR


def test_its_task_has_the_protocol_and_is_no_argument_of_ours(tmp_path: Path) -> None:
    run(tmp_path, "{}")
    assert (tmp_path / "task").read_text() == f"PROTOCOL\n\n{TASK}"
    assert not (tmp_path / "hacked").exists()


def test_what_it_cannot_do_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="no list of allowed tools"):
        MiniSweAgent().invocation(replace(order(tmp_path), allowed_tools=("Bash",)))
    with pytest.raises(Rejected, match="cannot resume"):
        MiniSweAgent().invocation(replace(order(tmp_path), resumed=Resumed("s")))


def run(folder: Path, trajectory: str) -> RunnerOutcome:
    program = folder / "mini"
    program.write_text(
        "#!/bin/sh\n"
        f"while [ $# -gt 0 ]; do case $1 in -t) printf %s \"$2\" >'{folder}/task' ;;"
        f' -o) printf %s {shlex.quote(trajectory)} >"$2" ;; esac; shift; done\n'
        "echo 'I work.'\n"
    )
    program.chmod(0o755)
    given = replace(order(folder), program=shlex.quote(str(program)))
    text = script(MiniSweAgent().invocation(given))
    done = subprocess.run(["sh", "-c", text], capture_output=True, check=False, timeout=60)
    reader = MiniSweAgent().reader()
    reader.feed(done.stdout)
    return reader.outcome(done.returncode, None, done.stderr)


def order(folder: Path) -> AgentOrder:
    return AgentOrder(
        Assignment(TASK),
        str(folder),
        str(folder / "home"),
        "0f0e0d0c-1111-4111-8111-111111111111",
        GatewayAccess("http://127.0.0.1:7777", "the-token"),
        protocol="PROTOCOL",
    )
