"""The real programs change a file in a real repository; their model is a script on this machine."""

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shared.domain.attempt import AgentStatus
from tests.fakes.gateway import ScriptedGateway, scripted_gateway
from tests.services.agent_programs import PACKAGES, program_for_tests
from workers.agents.events import EndReason, RunnerEnded, SessionStarted, ToolCalled, ToolReturned
from workers.agents.runners.port import AgentOrder, GatewayAccess, Invocation, RunnerOutcome
from workers.agents.runners.script import script
from workers.agents.runners.table import RUNNERS
from workers.agents.task_text import Assignment

TOKEN = "the-token-of-the-attempt"
DONE = {"status": "ok", "summary": "It is there.", "decisions": ["none"]}
TURNS: dict[str, list[Any]] = {
    "claude-code": [
        [
            {"text": "I write it."},
            {"tool": "Write", "input": {"file_path": "@/greeting.txt", "content": "hello\n"}},
        ],
        [{"tool": "Bash", "input": {"command": "cat greeting.txt; env"}}],
        [{"tool": "Bash", "input": {"command": "git commit --allow-empty -m sneaked"}}],
        [{"tool": "StructuredOutput", "input": DONE}],
    ],
    "codex": [
        [
            {"text": "I write it."},
            {"tool": "exec_command", "input": {"cmd": "echo hello > greeting.txt"}},
        ],
        [{"tool": "exec_command", "input": {"cmd": "cat greeting.txt; env"}}],
        [{"tool": "exec_command", "input": {"cmd": "git commit --allow-empty -m sneaked"}}],
        [{"text": json.dumps(DONE)}],
    ],
}


@pytest.mark.parametrize("runner", RUNNERS)
def test_the_real_program_carries_out_its_task(runner: str, tmp_path: Path) -> None:
    program = program_for_tests(runner)
    workspace = repository(tmp_path / "workspace")
    turns = json.loads(json.dumps(TURNS[runner]).replace("@", str(workspace)))
    with scripted_gateway(*turns) as gateway:
        order = AgentOrder(
            Assignment("Write a greeting."),
            str(workspace),
            str(tmp_path / "home"),
            "0f0e0d0c-1111-4111-8111-111111111111",
            GatewayAccess(gateway.url, TOKEN),
            program=shlex.quote(str(program)),
            protocol="Work alone, says the protocol.",
            model="scripted-model",
        )
        stream, outcome = carry_out(runner, RUNNERS[runner].invocation(order))

    assert (outcome.status, outcome.reason) == (AgentStatus.OK, EndReason.COMPLETED), outcome
    assert outcome.structured == DONE
    assert (workspace / "greeting.txt").read_text() == "hello\n"
    require_only_what_was_ordered(gateway, len(turns))
    events = RUNNERS[runner].reader().feed(stream)
    assert isinstance(events[0], SessionStarted)
    assert isinstance(events[-1], RunnerEnded)
    called = [event.call for event in events if isinstance(event, ToolCalled)]
    returned = [event for event in events if isinstance(event, ToolReturned)]
    assert [event.call for event in returned] == called
    assert [event.failed for event in returned[:3]] == [False, False, True]
    assert b"canary" not in stream
    assert git(workspace, "log", "--format=%s") == "base\n"
    changed = git(workspace, "status", "--porcelain", "--untracked-files=all")
    assert changed == "?? greeting.txt\n"
    assert outcome.version in {PACKAGES[runner].version, ""}


def require_only_what_was_ordered(gateway: ScriptedGateway, turns: int) -> None:
    """One request a turn, for the model of the order, with the text of the protocol."""
    assert len(gateway.requests) == turns
    for request in gateway.requests:
        assert request.body["model"] == "scripted-model"
        assert "Work alone, says the protocol." in request.raw.decode()
        assert "canary" not in request.raw.decode()


def repository(folder: Path) -> Path:
    """A repository whose own settings would start servers, run hooks and choose a model."""
    (folder / ".claude").mkdir(parents=True)
    (folder / ".codex").mkdir()
    touch = f"touch '{folder}/canary'"
    hook = {"hooks": [{"type": "command", "command": touch}]}
    settings = {"model": "canary", "hooks": {"SessionStart": [hook], "PreToolUse": [hook]}}
    (folder / ".claude/settings.json").write_text(json.dumps(settings))
    server = {"command": "sh", "args": ["-c", touch]}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"canary": server}}))
    (folder / ".codex/config.toml").write_text(
        f'model = "canary"\n[mcp_servers.canary]\ncommand = "sh"\nargs = ["-c", "{touch}"]\n'
    )
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "base"]):
        git(folder, *words)
    return folder


def git(folder: Path, *words: str) -> str:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ("git", *author, "-C", str(folder), *words)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def carry_out(runner: str, invocation: Invocation) -> tuple[bytes, RunnerOutcome]:
    command: Sequence[str] = ("sh", "-c", script(invocation))
    ours = {"PATH": os.environ["PATH"], "ANTHROPIC_AUTH_TOKEN": "canary", "OPENAI_KEY": "canary"}
    done = subprocess.run(
        command,
        env=ours | dict(invocation.secrets),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=100,
        check=False,
    )
    reader = RUNNERS[runner].reader()
    reader.feed(done.stdout)
    return done.stdout, reader.outcome(done.returncode, None, done.stderr)
