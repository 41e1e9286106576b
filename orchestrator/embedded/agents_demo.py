"""The demonstration of agents: commands on a host, and Claude Code in a repository, in one plan.

The program of Claude Code is the real one. The model gateway answers it from a script, and the
planner is a runbook, so that no key and no network is needed.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.tasks import TaskRequest
from orchestrator.embedded.stack import run_stack
from orchestrator.embedded.stage import Stage, asks_nothing
from orchestrator.process_command import HOME
from shared.domain.errors import Misconfigured
from shared.domain.host import LOCALHOST
from shared.domain.next_step import ShellCommand
from shared.domain.target import Repository
from shared.programs import search_path

_PLAN: Final = HOME / "examples/agents.yaml"
_SCRIPT: Final = HOME / "examples/agents/script.yaml"
_RUNBOOK: Final = HOME / "examples/agents/runbook/web-logs.yaml"
_PROJECT: Final = HOME / "examples/agents/logreport"
_PLACE: Final = "$HOME/replan-agents"
"""The folder on the host as the plan and the runbook name it; here it is a scratch folder."""

_THRESHOLD: Final = 2
"""Failed attempts before the evidence goes to the planner."""


def require_programs(environ: Mapping[str, str]) -> None:
    """Raise Misconfigured unless git and Claude Code are installed."""
    path = search_path(environ.get("PATH", os.defpath))
    if shutil.which("git", path=path) is None:
        raise Misconfigured("git is not installed; agents work in git repositories", stage="demo")
    if shutil.which("claude", path=path) is None:
        raise Misconfigured(
            "Claude Code is not installed: there is no `claude` on PATH, and this installation "
            "has no `claude-agent-sdk`, which brings one",
            stage="demo",
            next_step=ShellCommand(f"{sys.executable} -m pip install claude-agent-sdk"),
        )


@contextmanager
def set_stage(folder: Path, environ: Mapping[str, str]) -> Iterator[Stage]:
    """Start everything, and make a repository for the agents; nothing is left running afterwards.

    Raises Misconfigured where git or Claude Code is missing.
    """
    require_programs(environ)
    project, host, runbook = folder / "logreport", folder / "host", folder / "runbook"
    make_repository(_PROJECT, project, "A report to be written", environ)
    runbook.mkdir()
    (runbook / _RUNBOOK.name).write_text(_localized(_RUNBOOK, host), encoding="utf-8")
    environ = {
        **environ,
        **asks_nothing(folder),
        "REPLAN_SERVER_RUNBOOK_DIRS": str(runbook),
        "REPLAN_SERVER_WORKSPACES": str(folder / "workspaces"),
    }
    plan = PlanText(_localized(_PLAN, host), str(_PLAN))
    settings = (f"error_threshold_per_step={_THRESHOLD}",)
    with run_stack(folder / "data", environ, gateway="", script=_SCRIPT) as services:
        yield Stage(
            services,
            (
                f"a test is red in the repository {project}, and {LOCALHOST.name} has a log;",
                f"now carrying out examples/{_PLAN.name}; a script is the model of Claude Code:",
            ),
            TaskRequest(None, (LOCALHOST.name,), settings, plan),
            Repository(project.name, LOCALHOST.name, path=str(project)),
            (f".2.2#1@{LOCALHOST.name}",),
        )


def _localized(file: Path, host: Path) -> str:
    return file.read_text(encoding="utf-8").replace(_PLACE, str(host))


def make_repository(files: Path, project: Path, message: str, environ: Mapping[str, str]) -> None:
    """A repository with one commit of these files; no settings of this account take part in it."""
    shutil.copytree(files, project)
    ours = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    alone = {**ours, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    author = ("-c", "user.name=replan", "-c", "user.email=replan@localhost")
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "--all"),
        ("commit", "--quiet", f"--message={message}"),
    ):
        subprocess.run(("git", *author, *words), cwd=project, env=alone, check=True)
