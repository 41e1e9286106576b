"""The systemd units: they start what there is, never stop trying, and leave commands running."""

import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import pytest
import typer

from orchestrator.cli.main import build
from orchestrator.process_command import HOME
from shared.domain.jobs import ROLES
from shared.settings import ServerSettings
from tests.services.availability import not_possible_here
from workers.process.handover import PARTING
from workers.wiring import queues_of

UNITS: Final = HOME / "deploy/systemd"
SERVICES: Final = sorted(UNITS.glob("*.service"))
PROGRAM: Final = "/opt/replan/bin/replan"
RUN_COMMANDS: Final = {"executor", "escalation"}
"""The roles whose commands run below the worker when a host is this machine."""

Unit = dict[str, dict[str, list[str]]]


def read(path: Path) -> Unit:
    """The sections of a unit; a key may stand several times."""
    found: Unit = defaultdict(lambda: defaultdict(list))
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found[section][key].append(value)
    return found


def seconds(text: str) -> float:
    assert text.endswith("s")
    return float(text[:-1])


def instances(service: Path) -> list[str]:
    """The units that `replan.target` wants of a service: its instances if it is a template."""
    name, _, _ = service.stem.partition("@")
    wanted = read(UNITS / "replan.target")["Unit"]["Wants"]
    return [each for each in wanted if each.partition(".")[0].partition("@")[0] == name]


def commands(service: Path) -> list[list[str]]:
    """What a service starts, for each instance that is wanted."""
    (line,) = read(service)["Service"]["ExecStart"]
    named = [each.partition("@")[2].removesuffix(".service") for each in instances(service)]
    return [shlex.split(line.replace("%i", each)) for each in named or [""]]


def roles(service: Path) -> set[str]:
    """The roles of the workers that a service starts."""
    words = [command[1:] for command in commands(service) if command[0] == PROGRAM]
    named = {role for each in words if each[:2] == ["worker", "start"] for role in each[2:]}
    return set(ROLES) if "all" in named else named


def parse(words: list[str]) -> None:
    """Parse a command line as the real program does; raises for one that it does not understand."""
    command: Any = typer.main.get_command(build())
    context = None
    while hasattr(command, "commands"):
        word, *words = words
        context = command.make_context(word, [], parent=context, resilient_parsing=True)
        command = command.commands[word]
    command.make_context(command.name, words, parent=context)


def test_the_target_wants_a_coordinator_and_every_role() -> None:
    wanted = read(UNITS / "replan.target")["Unit"]["Wants"]
    assert "replan-coordinator.service" in wanted
    started = [role for service in SERVICES if instances(service) for role in roles(service)]
    assert sorted(started) == sorted(ROLES)
    files = {path.name for path in SERVICES}
    for each in wanted:
        stem, at, _ = each.removesuffix(".service").partition("@")
        assert f"{stem}{at}.service" in files


def test_one_unit_stands_for_every_role() -> None:
    """And is no part of the target, which starts each role by itself."""
    assert roles(UNITS / "replan-workers.service") == set(ROLES)
    assert instances(UNITS / "replan-workers.service") == []


@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)
def test_each_service_starts_what_the_program_has(service: Path) -> None:
    for program, *words in commands(service):
        if program == PROGRAM:
            parse(words)
        else:
            assert program == "/opt/replan/bin/python"
            assert words[:5] == ["-P", "-m", "replan", "-m", "celery"]
    assert len(queues_of(sorted(roles(service)) or ["all"])) > 0


@pytest.mark.parametrize(
    ("words", "error"),
    [(["worker", "begin"], "KeyError"), (["coordinator", "start", "--nothing"], "NoSuchOption")],
)
def test_a_command_line_that_the_program_does_not_have_is_noticed(
    words: list[str], error: str
) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - click's own are not public
        parse(words)
    assert type(raised.value).__name__ == error


@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)
def test_systemd_never_stops_trying(service: Path) -> None:
    unit = read(service)
    assert unit["Unit"]["StartLimitIntervalSec"] == ["0"]
    assert unit["Service"]["Restart"] == ["always"]
    assert 0 < seconds(*unit["Service"]["RestartSec"]) <= 5
    # No code keeps it away: even a wrong setting may be a server in the middle of a failover.
    assert not {"RestartPreventExitStatus", "SuccessExitStatus"} & unit["Service"].keys()


@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)
def test_a_service_that_is_enabled_alone_starts_with_its_machine(service: Path) -> None:
    """Where the target is not enabled, what only the target wants would stay away."""
    assert read(service)["Install"]["WantedBy"] == ["multi-user.target"]
    assert read(service)["Unit"]["PartOf"] == ["replan.target"]


@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)
def test_a_worker_has_the_time_that_it_takes_to_stop(service: Path) -> None:
    if roles(service):
        needed = ServerSettings().shutdown_grace + PARTING
        assert seconds(*read(service)["Service"]["TimeoutStopSec"]) > 2 * needed


@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)
def test_commands_of_this_machine_outlive_their_worker(service: Path) -> None:
    """And they may do what they may do without it: a sandbox would be theirs, too."""
    own = read(service)["Service"]
    if not roles(service) & RUN_COMMANDS:
        assert own["NoNewPrivileges"] == ["yes"]
        assert own["ProtectSystem"] == ["strict"]
        return
    assert own["KillMode"] == ["process"]
    assert own["OOMPolicy"] == ["continue"]
    limits = (
        "Protect",
        "Private",
        "Restrict",
        "NoNew",
        "Capability",
        "SystemCall",
        "UMask",
        "Limit",
    )
    assert [key for key in own if key.startswith(limits)] == []


@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)
def test_only_who_asks_models_gets_their_keys(service: Path) -> None:
    files = read(service)["Service"]["EnvironmentFile"]
    asks = bool(roles(service) & {"taskmaster", "planner", "subtask_planner"})
    asks |= service.stem == "replan-gateway"
    assert any("model.env" in file for file in files) is asks


def test_systemd_itself_understands_the_units(tmp_path: Path) -> None:
    """With programs that exist here in place of those of an installation."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        not_possible_here("systemd is not installed")
    for path in UNITS.iterdir():
        text = path.read_text(encoding="utf-8")
        for program in (PROGRAM, "/opt/replan/bin/python"):
            text = text.replace(f"ExecStart={program} ", f"ExecStart={sys.executable} ")
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    whole = [tmp_path / each for path in SERVICES for each in instances(path) or [path.name]]
    done = subprocess.run(
        [analyze, "verify", *map(str, [tmp_path / "replan.target", *whole])],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if "replan" in line]
    assert (done.returncode, ours) == (0, [])
