"""How each runner is started."""

import json
import os
import shlex
import subprocess
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from shared.domain.errors import Rejected, Transient
from workers.agents.runners.command import CommandRunner, with_protocol
from workers.agents.runners.port import (
    AgentOrder,
    AnsweredCall,
    GatewayAccess,
    Invocation,
    Resumed,
    Runner,
)
from workers.agents.runners.script import script
from workers.agents.runners.table import NAMES, RUNNERS, find_runner
from workers.agents.task_text import Assignment

SESSION = "0f0e0d0c-1111-4111-8111-111111111111"
TOKEN = "the-token-of-the-attempt"
ALL: list[Runner] = [*RUNNERS.values(), CommandRunner("any", "agent --auto")]

ORDER = AgentOrder(
    Assignment('Make it\'s "database"\n$(touch hacked) ö', context=("docs/a b.md",)),
    "/srv/work space",
    "/srv/home of it",
    SESSION,
    GatewayAccess("http://127.0.0.1:7777", TOKEN),
)

parametrised = pytest.mark.parametrize("runner", ALL, ids=lambda runner: runner.name)


@parametrised
def test_the_token_is_a_secret_and_the_task_is_in_no_argument(runner: Runner) -> None:
    order = replace(ORDER, protocol="PROTOCOL", model="m-1")
    invocation = runner.invocation(order)
    assert TOKEN in invocation.secrets.values()
    assert TOKEN not in script(invocation)
    assert TOKEN not in repr(order) + repr(invocation)
    assert not any("database" in word for word in invocation.argv)
    assert runner.program in invocation.argv


@pytest.mark.parametrize("name", RUNNERS)
def test_another_command_line_may_start_it(name: str) -> None:
    invocation = RUNNERS[name].invocation(replace(ORDER, program="'/opt/its own/agent' --fast"))
    at = invocation.argv.index("/opt/its own/agent")
    assert invocation.argv[at + 1] == "--fast"
    with pytest.raises(Rejected, match="not a valid command line"):
        RUNNERS[name].invocation(replace(ORDER, program="'unfinished"))


@parametrised
def test_the_script_gives_the_program_its_files_and_only_its_environment(
    runner: Runner, tmp_path: Path
) -> None:
    if isinstance(runner, CommandRunner):
        runner = CommandRunner("any", shlex.quote(str(tmp_path / "shows")))
    workspace, home = tmp_path / "work space", tmp_path / "it's home"
    workspace.mkdir()
    shows = tmp_path / "shows"
    shows.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exit\npwd\numask\nenv\necho "stdin: $(cat)"\n'
    )
    shows.chmod(0o755)
    order = replace(
        ORDER,
        workspace=str(workspace),
        home=str(home),
        program=shlex.quote(str(shows)),
        protocol="PROTO",
        variables={"EXTRA": "a 'b'\nc"},
    )
    invocation = runner.invocation(order)
    ours = {"PATH": os.environ["PATH"], "OUR_KEY": "sk-ours", "REPLAN_ATTEMPT": "the mark"}
    done = subprocess.run(
        ["sh", "-c", script(invocation)],
        env=ours | dict(invocation.secrets),
        capture_output=True,
        text=True,
        check=True,
        umask=0o027,
    )
    assert f"{workspace}\n0027\n" in done.stdout
    for each in (f"HOME={home}", "EXTRA=a 'b'\nc", "REPLAN_ATTEMPT=the mark", f"={TOKEN}"):
        assert f"{each}\n" in done.stdout
    assert "sk-ours" not in done.stdout
    assert ("$(touch hacked)" in done.stdout) is (invocation.stdin is not None)
    for name, text in invocation.files.items():
        assert (home / name).read_text() == text
        assert (home / name).stat().st_mode & 0o077 == 0
    assert not list(workspace.iterdir())


@pytest.mark.parametrize("field", ["home", "workspace"])
def test_a_relative_path_is_refused(field: str) -> None:
    order = replace(ORDER, **{field: "~/somewhere"})  # type: ignore[arg-type]
    with pytest.raises(Rejected, match="is not an absolute path"):
        script(RUNNERS["codex"].invocation(order))


def test_claude_loads_nothing_of_the_repository_and_may_not_push() -> None:
    invocation = claude(ORDER)
    assert {"--setting-sources=", "--strict-mcp-config", "--permission-prompts=none"} <= {
        *invocation.argv
    }
    denied = settings(invocation)["permissions"]["deny"]
    assert {"Bash(git push)", "Bash(git push *)", "Bash(git commit *)"} <= {*denied}
    assert settings(invocation)["permissions"]["allow"] == ["Bash", "Read", "TaskStop"]
    assert "hooks" not in settings(invocation)
    assert option(invocation, "--session-id") == SESSION
    assert "questions" not in json.loads(option(invocation, "--json-schema"))["properties"]


def test_claude_is_told_limits_tools_model_and_protocol() -> None:
    invocation = claude(
        replace(
            ORDER,
            protocol="PROTOCOL",
            model="m-1",
            turn_limit=7,
            cost_limit=Decimal("0.05"),
            allowed_tools=("Read", "Bash(make *)"),
        )
    )
    given = [option(invocation, name) for name in ("--model", "--max-turns", "--max-budget-usd")]
    assert given == ["m-1", "7", "0.05"]
    file = option(invocation, "--append-system-prompt-file").removeprefix(f"{ORDER.home}/")
    assert invocation.files[file] == "PROTOCOL"
    assert option(invocation, "--tools") == "Read,Bash"
    assert settings(invocation)["permissions"]["allow"] == ["Read", "Bash(make *)"]


def test_claude_gets_no_tool_where_the_plan_allows_none() -> None:
    invocation = claude(replace(ORDER, allowed_tools=()))
    assert option(invocation, "--tools") == ""
    assert settings(invocation)["permissions"]["allow"] == []


def test_claude_may_ask_in_interactive_mode_and_its_question_is_deferred(tmp_path: Path) -> None:
    invocation = claude(replace(ORDER, interactive=True))
    assert "--permission-prompt-tool=stdio" in invocation.argv
    assert option(invocation, "--tools").endswith(",AskUserQuestion")
    assert "questions" in json.loads(option(invocation, "--json-schema"))["properties"]
    assert decision(invocation, tmp_path, "toolu_1")["permissionDecision"] == "defer"


def test_claude_finds_the_answer_of_its_call_and_defers_the_next_question(tmp_path: Path) -> None:
    answers = (
        AnsweredCall("toolu_1", 'Which\n"DB"?', "it's $(touch hacked) ö"),
        AnsweredCall("toolu_2", "Why?", "so"),
    )
    invocation = claude(replace(ORDER, interactive=True, resumed=Resumed("s-1", answers)))
    assert option(invocation, "--resume") == "s-1"
    assert invocation.stdin is None
    first = decision(invocation, tmp_path, "toolu_1")
    assert first["permissionDecision"] == "allow"
    assert first["updatedInput"]["answers"] == {'Which\n"DB"?': "it's $(touch hacked) ö"}
    assert first["updatedInput"]["questions"][0]["question"] == 'Which\n"DB"?'
    assert decision(invocation, tmp_path, "toolu_2")["updatedInput"]["answers"] == {"Why?": "so"}
    assert decision(invocation, tmp_path, "toolu_22")["permissionDecision"] == "defer"


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_the_answer_to_a_question_without_a_call_is_the_next_message(name: str) -> None:
    answered = AnsweredCall("", "Which DB?", "SQLite")
    order = replace(ORDER, interactive=True, resumed=Resumed("s-1", (answered,)))
    invocation = RUNNERS[name].invocation(order)
    assert invocation.stdin == "Asked: Which DB?\nAnswered: SQLite"
    assert "s-1" in " ".join(invocation.argv)


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_resumed_session_without_answers_goes_on_with_the_assignment(name: str) -> None:
    invocation = RUNNERS[name].invocation(replace(ORDER, resumed=Resumed("s-1")))
    assert invocation.stdin == str(ORDER.assignment)


def test_codex_reaches_only_the_gateway_and_hides_its_token_from_commands() -> None:
    invocation = RUNNERS["codex"].invocation(replace(ORDER, protocol='Say "no".\n', model="m-1"))
    assert {"--ignore-user-config", "--ignore-rules", "--json"} <= {*invocation.argv}
    settings_of = dict(
        word.removeprefix("-c").split("=", 1) for word in invocation.argv if word.startswith("-c")
    )
    assert settings_of["sandbox_mode"] == '"workspace-write"'
    assert settings_of["approval_policy"] == '"never"'
    assert settings_of["developer_instructions"] == '"Say \\"no\\".\\n"'
    assert '"http://127.0.0.1:7777/v1"' in settings_of["model_providers.replan"]
    (name,) = invocation.secrets
    assert f'env_key="{name}"' in settings_of["model_providers.replan"]
    assert f'exclude=["{name}"]' in settings_of["shell_environment_policy"]
    assert invocation.env["CODEX_HOME"].startswith(ORDER.home)


def test_codex_has_no_list_of_tools() -> None:
    with pytest.raises(Rejected, match="no list of allowed tools"):
        RUNNERS["codex"].invocation(replace(ORDER, allowed_tools=("Read",)))


@pytest.mark.parametrize(
    ("template", "argv"),
    [
        ("claude-code", ("claude-code", "--task", "FILE")),
        ("codex --mode agent", ("codex", "--mode", "agent", "--task", "FILE")),
        ("run 'my agent' {task_file} -v", ("run", "my agent", "FILE", "-v")),
        ("run --input={task_file}", ("run", "--input=FILE")),
    ],
)
def test_a_command_gets_its_task_as_a_file(template: str, argv: tuple[str, ...]) -> None:
    """S4.14, S4.19."""
    invocation = CommandRunner("any", template).invocation(ORDER)
    (name,) = invocation.files
    path = f"{ORDER.home}/{name}"
    assert invocation.argv == tuple(word.replace("FILE", path) for word in argv)


def test_the_task_file_is_protocol_blank_line_task() -> None:
    """S4.17, S4.18: the name is unique, because a session is."""
    invocation = CommandRunner("any", "run").invocation(replace(ORDER, protocol="PROTOCOL\n"))
    ((name, text),) = invocation.files.items()
    assert Path(name).name == f"autonomous_task_{SESSION.replace('-', '')}.md"
    assert text == f"PROTOCOL\n\n{ORDER.assignment}\n"


def test_a_task_without_a_protocol_is_the_task() -> None:
    """S4.16."""
    ((name, text),) = CommandRunner("any", "run").invocation(ORDER).files.items()
    assert "autonomous" not in name
    assert text == with_protocol("", str(ORDER.assignment))


@pytest.mark.parametrize("template", ["", "  ", "run 'unfinished"])
def test_a_command_line_that_is_not_valid_is_refused(template: str) -> None:
    with pytest.raises(Rejected, match="runner 'any'"):
        CommandRunner("any", template).invocation(ORDER)


def test_a_command_cannot_be_resumed() -> None:
    with pytest.raises(Rejected, match="cannot resume"):
        CommandRunner("any", "run").invocation(replace(ORDER, resumed=Resumed("s-1")))


def test_runners_are_found_by_their_names() -> None:
    for name in NAMES:
        assert find_runner(name, "run it").name == name
    with pytest.raises(Transient, match="does not know the runner 'codexx', only claude-code"):
        find_runner("codexx")
    for name in ("acp", "command"):
        with pytest.raises(Rejected, match=f"'{name}' needs a command line"):
            find_runner(name)


def claude(order: AgentOrder) -> Invocation:
    return RUNNERS["claude-code"].invocation(order)


def option(invocation: Invocation, name: str) -> str:
    (found,) = (word for word in invocation.argv if word.startswith(f"{name}="))
    return found.partition("=")[2]


def settings(invocation: Invocation) -> dict[str, dict[str, list[str]]]:
    path = option(invocation, "--settings").removeprefix(f"{ORDER.home}/")
    read: dict[str, dict[str, list[str]]] = json.loads(invocation.files[path])
    return read


def decision(invocation: Invocation, folder: Path, call: str) -> dict[str, Any]:
    """What the hook of an invocation says to a use of the tool for questions."""
    path = option(invocation, "--settings").removeprefix(f"{ORDER.home}/")
    (hook,) = json.loads(invocation.files[path])["hooks"]["PreToolUse"]
    (command,) = hook["hooks"]
    shell, file = shlex.split(command["command"])
    text = invocation.files[file.removeprefix(f"{ORDER.home}/")]
    (folder / "hook").write_text(text)
    given = json.dumps({"tool_name": hook["matcher"], "tool_use_id": call}, separators=(",", ":"))
    done = subprocess.run(
        [shell, str(folder / "hook")], input=given, capture_output=True, text=True, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout)["hookSpecificOutput"]
    return told
