"""The real programs change a file in a real repository; their model is a script on this machine."""

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shared.domain.attempt import AgentStatus
from shared.domain.containment import Networks
from tests.fakes.gateway import ScriptedGateway, scripted_gateway
from tests.services.agent_programs import PACKAGES, program_for_tests
from workers.agents.containment.text import Place, place_of_workspace, reachable_gateway
from workers.agents.events import EndReason, RunnerEnded, SessionStarted, ToolCalled, ToolReturned
from workers.agents.runners.port import AgentOrder, GatewayAccess, Invocation, Runner, RunnerOutcome
from workers.agents.runners.script import script
from workers.agents.runners.table import find_runner
from workers.agents.task_text import Assignment
from workers.roles.guards import Guards

TOKEN = "the-token-of-the-attempt"
DONE = {"status": "ok", "summary": "It is there.", "decisions": ["none"]}
STARTED: dict[str, tuple[str, str]] = {
    "claude-code": ("claude-code", "{}"),
    "codex": ("codex", "{}"),
    "acp": ("opencode", "{} acp --pure"),
}
"""Each runner: the program of its package, and the command line that starts it."""

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
    "acp": [
        [
            {"text": "I write it."},
            {"tool": "write", "input": {"filePath": "@/greeting.txt", "content": "hello\n"}},
        ],
        [{"tool": "bash", "input": {"command": "cat greeting.txt; env", "description": "look"}}],
        [{"tool": "bash", "input": {"command": "git commit --allow-empty -m sneaked"}}],
        [{"text": f"It is done.\n{json.dumps(DONE)}"}],
    ],
}


@pytest.mark.parametrize("networks", [None, *Networks])
@pytest.mark.parametrize("name", STARTED)
def test_the_real_program_carries_out_its_task(
    name: str, networks: Networks | None, tmp_path: Path
) -> None:
    """Outside of a containment, and in one with each of the networks that it may reach."""
    package, template = STARTED[name]
    command = template.format(shlex.quote(str(program_for_tests(package))))
    runner = find_runner(name, command)
    workspace = repository(tmp_path / "repository/work/at.1/workspace")
    home = f"{tmp_path}/repository/work/at.1/home/1"
    turns = json.loads(json.dumps(TURNS[name]).replace("@", str(workspace)))
    with scripted_gateway(*turns) as gateway:
        order = AgentOrder(
            Assignment("Write a greeting."),
            str(workspace),
            home,
            "0f0e0d0c-1111-4111-8111-111111111111",
            GatewayAccess(seen_from(networks, gateway.url), TOKEN),
            program=command,
            protocol="Work alone, says the protocol.",
            model="scripted-model",
        )
        place = place_of(str(workspace), home, networks, gateway.url)
        stream, outcome = carry_out(runner, runner.invocation(order), place)

    assert (outcome.status, outcome.reason) == (AgentStatus.OK, EndReason.COMPLETED), outcome
    assert outcome.structured == DONE
    assert (workspace / "greeting.txt").read_text() == "hello\n"
    require_only_what_was_ordered(gateway, len(turns))
    events = runner.reader().feed(stream)
    assert isinstance(events[0], SessionStarted)
    assert isinstance(events[-1], RunnerEnded)
    # Codex does not tell of every command that ends at once.
    called = [event.call for event in events if isinstance(event, ToolCalled)]
    assert called
    assert called == [event.call for event in events if isinstance(event, ToolReturned)]
    assert b"canary" not in stream
    assert git(workspace, "log", "--format=%s") == "base\n"
    changed = git(workspace, "status", "--porcelain", "--untracked-files=all")
    assert changed == "?? greeting.txt\n"
    assert outcome.version.rpartition(" ")[2] == PACKAGES[package].version


def require_only_what_was_ordered(gateway: ScriptedGateway, turns: int) -> None:
    """One request a turn, for the model of the order, with the text of the protocol.

    OpenCode asks once more, for a title.
    """
    requests = [each for each in gateway.requests if each.body.get("tools")]
    assert len(requests) == turns
    for request in requests:
        assert request.body["model"] == "scripted-model"
        assert "Work alone, says the protocol." in request.raw.decode()
        assert "canary" not in request.raw.decode()


def seen_from(networks: Networks | None, url: str) -> str:
    """The URL of the gateway as the runner reaches it."""
    return url if networks is not Networks.GATEWAY else reachable_gateway(url) or url


def place_of(workspace: str, home: str, networks: Networks | None, gateway: str) -> Place | None:
    """Where the runner works; None outside of a containment."""
    if networks is None:
        return None
    hidden = Guards().confinement("localhost").hidden
    place = place_of_workspace(workspace, home)
    return replace(place, hidden=hidden, networks=networks, gateway=gateway)


def repository(folder: Path) -> Path:
    """A repository whose own settings would start servers, run hooks and choose a model."""
    (folder / ".claude").mkdir(parents=True)
    (folder / ".codex").mkdir()
    (folder / "opencode.json").write_text('{"model": "canary/canary"}')
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


def carry_out(
    runner: Runner, invocation: Invocation, place: Place | None
) -> tuple[bytes, RunnerOutcome]:
    command: Sequence[str] = ("sh", "-c", script(invocation, place))
    ours = {name: os.environ[name] for name in ("PATH", "HOME")}
    ours |= {"ANTHROPIC_AUTH_TOKEN": "canary", "OPENAI_KEY": "canary"}
    done = subprocess.run(
        command,
        env=ours | dict(invocation.secrets),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    reader = runner.reader()
    reader.feed(done.stdout)
    return done.stdout, reader.outcome(done.returncode, None, done.stderr)
