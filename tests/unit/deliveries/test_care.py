"""What a look at a workspace says of its repository."""

import re
import subprocess
from pathlib import Path

from shared.domain.target import Repository
from tests.fakes.scripted_shell import Answer, ScriptedShell
from workers.deliveries.worktree_care import WorktreeCare


def _run(command: str) -> Answer:
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    return Answer(done.returncode, done.stdout, done.stderr)


def test_the_git_directory_is_named_where_there_is_no_workspace(tmp_path: Path) -> None:
    """The ways out of what has diverged are typed with it."""
    ours = tmp_path / "app" / "ours.git"
    subprocess.run(["git", "init", "-q", "--bare", ours], check=True)
    shell = ScriptedShell({re.compile(""): _run})
    care = WorktreeCare(shell, Repository("app", "web1", "/srv/app"), root=str(tmp_path))
    found = care.attend({"name": f"{'ab' * 16}-main", "verb": "look"})
    assert (found.path, found.git_dir) == (None, str(ours))
