"""What an error says to type next leads on: nobody who follows it comes back to where they were."""

import re
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer

from orchestrator.cli.main import build
from tests.integration.cli.calling import Cli
from tests.integration.cli.test_hostile_text import NEVER_ALONE, ONCE

UNKNOWN: Final = {
    "intervention": "I99",
    "fix": "F99",
    "delivery": "D99",
    "accept": "D99",
    "attempt": "T99.1.1#1",
    "step": "T99.1",
    "bundle": "T99.1",
    "host": "nowhere",
    "repo": "nowhere",
}
"""What each group of verbs is asked about, and nothing has it; a task where it is not said."""

BLANK: Final = re.compile(r"[A-Z]{3,}|…")
"""What only a person can fill in."""


def verbs(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every verb with its words."""
    for word, held in getattr(command, "commands", {}).items():
        yield from verbs(held, *words, word)
    if not hasattr(command, "commands"):
        yield words, command


def calls() -> Iterator[tuple[str, ...]]:
    """Each verb about something that is not there, and about what is no name of anything."""
    for words, command in verbs(typer.main.get_command(build())):
        if ".".join(words) in NEVER_ALONE:
            continue
        needed = [p for p in command.params if p.param_type_name == "argument" and p.required]
        more = ONCE.get(".".join(words), ())
        for given in dict.fromkeys((UNKNOWN.get(words[0], "T99"), "no such thing")):
            yield (*words, *(given for _ in needed), *more)


def onward(cli: Cli, typed: tuple[str, ...]) -> list[str]:
    """What is typed one after the other by who follows each hint until nothing is wrong.

    It ends where a person has to decide: at a blank, at the help, at another program, and at what
    starts or changes something.
    """
    line, path = shlex.join(("replan", *typed)), []
    while line not in path:
        path.append(line)
        program, *words = shlex.split(line)
        verb = ".".join(words[:2])
        ends = "--help" in words or {verb, words[0]} & NEVER_ALONE
        if program != "replan" or ends:
            return path
        told = cli.whatever(*words)
        if told["ok"] or told["next_step_cmd"] is None:
            return path
        line = told["next_step_cmd"]
        if line.startswith("replan ") and BLANK.search(line):
            return path
    return [*path, line]


def circles(cli: Cli, *commands: tuple[str, ...]) -> list[list[str]]:
    """The paths that come back to a command that was typed before."""
    paths = [onward(cli, typed) for typed in commands]
    return [path for path in paths if path[-1] in path[:-1]]


def test_no_hint_leads_in_a_circle(cli: Cli) -> None:
    assert circles(cli, *calls()) == []


def test_nor_does_one_about_a_host_that_cannot_be_reached(cli: Cli, tmp_path: Path) -> None:
    """Whether it is enrolled or not: in the end a person logs in by hand, and sees why."""
    key = tmp_path / "key"
    key.write_text("no key\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
        ssh = ("--user", "deploy", "--key", str(key), "--accept-host-key", "any", "--port", port)
        add = ("host", "add", "web1", "--address", "127.0.0.1", *ssh)
        assert onward(cli, add)[1:] == [f"ssh -i {key} -p {port} deploy@127.0.0.1 true"]
        cli.rows(
            'INSERT INTO hosts (name, connection, address, port, "user", key_path, host_key)'
            " VALUES ('web1', 'ssh', '127.0.0.1', :port, 'deploy', :key, 'ssh-ed25519 AAAA')"
            " RETURNING name",
            port=int(port),
            key=str(key),
        )
        assert onward(cli, ("host", "check", "web1"))[-1].startswith(f"ssh -i {key}")
    missing = tmp_path / "missing"
    away = ("host", "add", "web2", "--address", "127.0.0.1", "--user", "deploy", "--key")
    assert onward(cli, (*away, str(missing)))[1:] == [f"ssh-keygen -t ed25519 -f {missing}"]


BAD_PLAN = "steps: [{title: one, commands: 3}]\n"
"""A plan file with a fault."""


def test_nor_does_one_about_a_file_with_a_fault(cli: Cli, tmp_path: Path) -> None:
    """Whoever gives the same file once more gets the same fault: it has to be edited."""
    file = tmp_path / "a plan.yaml"
    file.write_text(BAD_PLAN)
    task = cli.json("task", "submit", "look", "--local", "--planner", "human")["details"]["ref"]
    given = (
        ("task", "submit", "--local", "--plan", str(file)),
        ("task", "submit", "--local", "--tasks", str(file)),
        ("plan", "provide", task, "--file", str(file)),
        ("guard", "check", "--plan", str(file)),
    )
    for each in given:
        assert onward(cli, each)[1:] == [f"${{EDITOR:-vi}} '{file}'"], each


@pytest.mark.parametrize(
    ("variables", "then"),
    [
        ({"REPLAN_LEASE": "abc"}, "unset REPLAN_LEASE"),
        ({"REPLAN_LEESE": "5"}, "unset REPLAN_LEESE"),
        ({"REPLAN_HEARTBEAT": "40"}, "unset REPLAN_HEARTBEAT"),
        ({"REPLAN_CONFIG": "{folder}/key.toml"}, "${{EDITOR:-vi}} {folder}/key.toml"),
        ({"REPLAN_CONFIG": "{folder}/value.toml"}, "${{EDITOR:-vi}} {folder}/value.toml"),
        ({"REPLAN_CONFIG": "{folder}/section.toml"}, "${{EDITOR:-vi}} {folder}/section.toml"),
        ({"REPLAN_CONFIG": "{folder}/no.toml"}, "${{EDITOR:-vi}} {folder}/no.toml"),
        ({"REPLAN_CONFIG": "{folder}/missing.toml"}, "${{EDITOR:-vi}} {folder}/missing.toml"),
    ],
)
def test_nor_does_one_about_a_setting(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    then: str,
) -> None:
    """Nothing that reads the settings shows them while one is wrong: it has to be taken back."""
    (tmp_path / "key.toml").write_text("[server]\nleese = 5\n")
    (tmp_path / "value.toml").write_text("[server]\nlease = 'abc'\n")
    (tmp_path / "section.toml").write_text("[servers]\nlease = 60\n")
    (tmp_path / "no.toml").write_text("lease: 60\n")
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(folder=tmp_path))
    assert onward(cli, ("task", "list"))[1:] == [then.format(folder=tmp_path)]


def test_nor_does_one_about_a_setting_of_a_task(cli: Cli) -> None:
    submit = ("task", "submit", "look", "--local", "--set", "max_retry_count=many")
    assert onward(cli, submit)[1:] == ["replan config show"]


def test_what_names_no_target_runs_here(cli: Cli) -> None:
    """A machine that has just been set up has no host to choose from."""
    assert onward(cli, ("task", "submit", "look around"))[1:] == [
        "replan task submit 'look around' --local"
    ]
