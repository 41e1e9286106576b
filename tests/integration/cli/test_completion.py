"""The Tab key, in a shell that finds replan as README has it: the environment is activated."""

import json
import os
import socket
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from orchestrator.cli.main import main
from tests.integration.cli.calling import Cli
from tests.services.shells import shell_for_tests

TYPED = """
eval "$(replan --show-completion)"
COMP_WORDS=(replan task su)
COMP_CWORD=2
_replan_completion replan
printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_tab_completes_the_verbs_in_any_folder(tmp_path: Path) -> None:
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [shell_for_tests("bash"), "-c", TYPED],
        cwd=tmp_path,
        env={"PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "submit\n", "")


HEAVY = ("sqlalchemy", "psycopg", "orchestrator.acts.caller", "shared.domain.facts")
"""What a Tab without an answer does not load."""

TOLD = f"""
import atexit, json, sys
loaded = lambda: [name for name in {HEAVY} if name in sys.modules]
atexit.register(lambda: print(json.dumps(loaded()), file=sys.stderr))
from orchestrator.cli.main import main
main([])
"""


def completing(line: str) -> dict[str, str]:
    """What bash gives to a program whose line ends there with the Tab key."""
    words = line.split(" ")
    last = str(len(words) - 1)
    return {"_REPLAN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": last}


def offered(line: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Tab offers at the end of the line."""
    cli.capsys.readouterr()
    with monkeypatch.context() as typed:
        for name, value in completing(line).items():
            typed.setenv(name, value)
        with pytest.raises(SystemExit):
            main([])
    return cli.capsys.readouterr().out.split()


@pytest.mark.changes_rows
def test_tab_completes_what_there_is(
    cli: Cli, hosts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts, tasks, questions, repositories, planners and settings."""
    plan = tmp_path / "plan.yaml"
    plan.write_text("steps: [{title: s, subtasks: [{run: 'true'}]}]")
    for _ in range(2):
        cli.json("task", "submit", "--plan", plan, "--local")
    cli.rows(
        "INSERT INTO interventions (task_id, kind, stage, reason)"
        " VALUES (1, 'escalation', 'model', 'r')"
        " RETURNING id"
    )
    told = {
        line: offered(f"replan {line}", cli, monkeypatch)
        for line in (
            *(
                "host check ",
                "task submit --host t",
                "guard rules --host lo",
                "task show ",
                "plan show T1",
            ),
            *("intervention approve ", "task submit --planner r", "repo show "),
            *("config explain error_th", "task submit --set error_th"),
        )
    }
    assert told == {
        "host check ": ["localhost", *hosts],
        "task submit --host t": ["two"],
        "guard rules --host lo": ["localhost"],
        "task show ": ["T2", "T1"],
        "plan show T1": ["T1"],
        "intervention approve ": ["I1"],
        "task submit --planner r": ["runbook"],
        "repo show ": [],
        "config explain error_th": ["error_threshold_per_step"],
        "task submit --set error_th": ["error_threshold_per_step="],
    }


def test_tab_offers_nothing_at_once_where_no_database_is(tmp_path: Path) -> None:
    """Neither where none is named nor where nobody listens; no heavy library loads for it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        away = f"postgresql://127.0.0.1:{probe.getsockname()[1]}/none"
        for more in ({}, {"REPLAN_DATABASE_URL": away}):
            done = subprocess.run(
                [sys.executable, "-c", TOLD],
                env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
                | completing("replan task show T")
                | more,
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.stdout.strip(), json.loads(done.stderr)) == ("", []), done
