"""Agents with the Agent Client Protocol: our client against a made-up agent, and its reader."""

import ast
import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shared.domain.attempt import AgentStatus
from shared.domain.errors import Rejected
from shared.domain.question import Question
from tests.fakes import acp_agent
from workers.agents.compliance import count_questions
from workers.agents.events import (
    AgentEvent,
    Asked,
    EndReason,
    Said,
    SessionStarted,
    ToolCalled,
    ToolReturned,
)
from workers.agents.runners import acp, acp_client
from workers.agents.runners.acp import AcpReader, AcpRunner
from workers.agents.runners.port import (
    AgentOrder,
    AnsweredCall,
    GatewayAccess,
    Resumed,
    RunnerOutcome,
)
from workers.agents.runners.script import script
from workers.agents.task_text import Assignment


def test_a_host_with_an_old_python_can_run_the_client() -> None:
    text = AcpRunner("acp", "any").invocation(order(Path("/srv"))).files["acp/client.py"]
    ast.parse(text, feature_version=(3, 8))


def test_a_prompt_is_carried_out_and_what_the_agent_asks_for_is_answered(tmp_path: Path) -> None:
    events, outcome = converse(tmp_path, "make test")
    assert events[0] == SessionStarted("ses_1", version="fake 1")
    assert isinstance(events[1], ToolCalled)
    assert isinstance(events[2], ToolReturned)
    assert not events[2].failed
    (said,) = (event.text for event in events if isinstance(event, Said))
    assert said.startswith("prompt: PROTOCOL\n\nWrite a greeting.")
    assert said.endswith("granted: True; served: False")
    assert (outcome.status, outcome.reason) == (AgentStatus.OK, EndReason.COMPLETED)
    assert outcome.session == "ses_1"
    assert outcome.usage is not None
    assert outcome.usage.input == 5


@pytest.mark.parametrize("command", ["git push origin main", "cd x && git -C y commit -m z"])
def test_publishing_is_refused_and_an_agent_that_did_nothing_else_is_blocked(
    tmp_path: Path, command: str
) -> None:
    _, outcome = converse(tmp_path, command)
    assert (outcome.status, outcome.reason) == (AgentStatus.BLOCKED, EndReason.TOOLS_DENIED)
    assert outcome.denied == (command,)
    assert "granted: False" in outcome.summary


def test_what_a_loaded_session_said_before_is_not_told_again(tmp_path: Path) -> None:
    resumed = Resumed("ses_1", (AnsweredCall("", "Which DB?", "SQLite"),))
    events, _ = converse(tmp_path, "true", resumed)
    (said,) = (event.text for event in events if isinstance(event, Said))
    assert "Asked: Which DB?\nAnswered: SQLite" in said
    assert "an old message" not in said


@pytest.mark.parametrize("behaviour", ["asks", "asks and hangs"])
def test_a_form_for_a_person_ends_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    """Whether the agent ends it by itself or not: its session goes on with the answer."""
    monkeypatch.setattr(acp, "_client", _impatient)
    events, outcome = converse(tmp_path, behaviour, interactive=True)
    asked = Asked(Question("Which DB?", ("SQLite", "PostgreSQL")), "", deferred=True)
    assert asked in events
    assert (outcome.status, outcome.reason) == (AgentStatus.NEEDS_INPUT, EndReason.QUESTION)
    assert (outcome.question, outcome.session) == (asked, "ses_1")


def test_a_form_is_declined_for_an_agent_that_works_without_a_person(tmp_path: Path) -> None:
    """It goes on by itself, and the question counts."""
    events, outcome = converse(tmp_path, "asks")
    assert count_questions(events) == 1
    assert (outcome.status, outcome.question) == (AgentStatus.OK, None)
    assert outcome.summary == "I take SQLite."


def test_a_session_that_is_gone_is_begun_again_with_the_whole_task(tmp_path: Path) -> None:
    resumed = Resumed("ses_1", (AnsweredCall("", "Which DB?", "SQLite"),))
    events, _ = converse(tmp_path, "forgets", resumed)
    (said,) = (event.text for event in events if isinstance(event, Said))
    assert "Write a greeting." in said


@pytest.mark.parametrize(
    ("fields", "question"),
    [
        ({}, Question("Go on?")),
        ({"sure": {"type": "boolean"}}, Question("Go on?", ("yes", "no"))),
        (
            {"how": {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}},
            Question("Go on?", ("a", "b")),
        ),
        (
            {"name": {"type": "string", "description": "Its name"}, "sure": {"type": "boolean"}},
            Question("Go on?\n1. Its name\n2. sure (yes / no)"),
        ),
    ],
)
def test_the_fields_of_a_form_become_a_question(
    fields: dict[str, object], question: Question
) -> None:
    told = {"event": "asked", "message": "Go on?", "schema": {"properties": fields}}
    (asked,) = AcpReader().feed(json.dumps(told | {"deferred": True}).encode() + b"\n")
    assert asked == Asked(question, "", deferred=True)


def test_an_agent_without_a_login_is_blocked(tmp_path: Path) -> None:
    _, outcome = converse(tmp_path, "logged out")
    assert (outcome.status, outcome.reason) == (AgentStatus.BLOCKED, EndReason.NO_LOGIN)
    assert "log in first" in outcome.detail


def test_an_agent_that_dies_leaves_no_result(tmp_path: Path) -> None:
    _, outcome = converse(tmp_path, "dies")
    assert (outcome.status, outcome.reason) == (AgentStatus.ERROR, EndReason.NO_RESULT)
    assert "exit code 3" in outcome.detail


def test_a_missing_agent_is_not_started(tmp_path: Path) -> None:
    _, outcome = converse(tmp_path, "true", agent="/nonexistent/agent")
    assert (outcome.status, outcome.reason) == (AgentStatus.BLOCKED, EndReason.NOT_STARTED)
    assert "/nonexistent/agent: No such file" in outcome.detail


@pytest.mark.parametrize(
    ("stop", "status", "reason"),
    [
        ("max_tokens", AgentStatus.PARTIAL, EndReason.CONTEXT_FULL),
        ("max_turn_requests", AgentStatus.PARTIAL, EndReason.TURN_LIMIT),
        ("refusal", AgentStatus.ERROR, EndReason.MODEL_REFUSED),
        ("cancelled", AgentStatus.ERROR, EndReason.INTERRUPTED),
        ("from_the_future", AgentStatus.ERROR, EndReason.FAILED),
    ],
)
def test_other_ways_to_stop(stop: str, status: AgentStatus, reason: EndReason) -> None:
    reader = AcpReader()
    reader.feed(json.dumps({"event": "ended", "stop": stop}).encode() + b"\n")
    outcome = reader.outcome(0)
    assert (outcome.status, outcome.reason) == (status, reason)


def test_it_has_no_list_of_tools() -> None:
    with pytest.raises(Rejected, match="no list of allowed tools"):
        AcpRunner("acp", "any").invocation(replace(order(Path("/srv")), allowed_tools=("Read",)))


def converse(
    folder: Path,
    behaviour: str,
    resumed: Resumed | None = None,
    agent: str = sys.executable,
    *,
    interactive: bool = False,
) -> tuple[list[AgentEvent], RunnerOutcome]:
    template = shlex.join((agent, acp_agent.__file__, behaviour))
    runner = AcpRunner("acp", template)
    given = replace(order(folder), resumed=resumed, interactive=interactive)
    invocation = runner.invocation(given)
    own = replace(invocation, argv=(sys.executable, *invocation.argv[1:]))
    done = subprocess.run(["sh", "-c", script(own)], capture_output=True, check=False, timeout=60)
    reader = runner.reader()
    return reader.feed(done.stdout), reader.outcome(done.returncode, None, done.stderr)


def _impatient() -> str:
    client = Path(acp_client.__file__).read_text(encoding="utf-8")
    return client.replace("GRACE = 5.0", "GRACE = 0.1")


def order(folder: Path) -> AgentOrder:
    return AgentOrder(
        Assignment("Write a greeting."),
        str(folder),
        str(folder / "home"),
        "0f0e0d0c-1111-4111-8111-111111111111",
        GatewayAccess("http://127.0.0.1:7777", "the-token"),
        protocol="PROTOCOL",
    )
