"""What the journeys of agents have in common."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.com")
PLACES = Path("~/.replan/workspaces").expanduser()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A repository with one commit; its name is its own, for its workspaces outlive the test."""
    folder = tmp_path / f"project-{uuid4().hex[:8]}"
    folder.mkdir()
    (folder / "app.txt").write_text("old\n")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run([*GIT, *command], cwd=folder, check=True)
    yield folder
    shutil.rmtree(PLACES / folder.name, ignore_errors=True)


def processes_of(token: str) -> list[str]:
    """The processes of a run's attempts that there are on this machine."""
    found = []
    for each in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = each.read_bytes().split(b"\0")
        except OSError:
            continue
        named = (line for line in variables if line.startswith(b"REPLAN_ATTEMPT="))
        if any(os.fsencode(token) in name for name in named):
            found.append(each.parent.name)
    return found
