"""The demonstration of a project: planned, developed, reviewed, rejected once, and published.

The program of Claude Code is the real one; it develops and reviews. The model gateway answers it
from a script, and the manager is a runbook, so that no key and no network is needed.
"""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from orchestrator.acts.projects import ProjectRequest
from orchestrator.embedded.agents_demo import make_repository, require_programs
from orchestrator.embedded.stack import run_stack
from orchestrator.embedded.stage import Stage
from orchestrator.process_command import HOME
from shared.domain.host import LOCALHOST
from shared.domain.target import Repository

_FILES: Final = HOME / "examples/project/stats"
_SCRIPT: Final = HOME / "examples/project/script.yaml"
_RUNBOOK: Final = HOME / "examples/project/runbook"
GOAL: Final = "Write a report on a column of numbers: their count, their mean and their median"


@contextmanager
def set_stage(folder: Path, environ: Mapping[str, str]) -> Iterator[Stage]:
    """Start everything, and make a repository with a remote; nothing is left running afterwards.

    Raises Misconfigured where git or Claude Code is missing.
    """
    require_programs(environ)
    project, remote = folder / "stats", folder / "stats.git"
    make_repository(_FILES, project, "Programs on columns of numbers", environ)
    subprocess.run(("git", "clone", "--quiet", "--bare", project, remote), check=True)
    environ = {
        **environ,
        "REPLAN_SERVER_RUNBOOK_DIRS": str(_RUNBOOK),
        "REPLAN_SERVER_WORKSPACES": str(folder / "workspaces"),
    }
    with run_stack(folder / "data", environ, gateway="", script=_SCRIPT) as services:
        yield Stage(
            services,
            (
                f"the repository {project} counts numbers; its remote is {remote};",
                "a script is the model of Claude Code, which develops and reviews:",
                f"the goal: {GOAL}",
            ),
            ProjectRequest(GOAL, project.name, ("planner=runbook", "subtask_planner=runbook")),
            Repository(
                project.name,
                LOCALHOST.name,
                path=str(project),
                checks=("sh tests/run.sh",),
                runners=("claude-code",),
                remote=str(remote),
            ),
        )
