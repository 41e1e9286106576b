"""Looking at a workspace for a person, keeping what it holds, and removing it (S2.61)."""

import subprocess
from pathlib import Path

import pytest

from shared.domain.target import Repository
from tests.integration.workspaces.sources import Source
from workers.agents.workspaces.values import Workspace
from workers.agents.workspaces.workspaces import Workspaces
from workers.deliveries.worktree_care import WorktreeCare
from workers.shells.ports import Shell

NAME = "ab12-1"


@pytest.fixture
def care(local_shell: Shell, place: Path, source: Source) -> WorktreeCare:
    """What people have done to the workspaces of that repository."""
    repository = Repository("app", "localhost", str(source.folder))
    return WorktreeCare(local_shell, repository, root=str(place))


@pytest.fixture
def workspace(workspaces: Workspaces) -> Workspace:
    """A workspace in which nobody has worked yet."""
    return workspaces.prepare(workspaces.base("ab12").sha, NAME)


def ask(care: WorktreeCare, verb: str) -> tuple[bool, bool, bool]:
    """Whether there is one afterwards, whether all of it is kept, and whether it has changes."""
    found = care.attend({"name": NAME, "verb": verb})
    return found.path is not None, found.kept, found.changed


def test_it_is_looked_at_kept_and_removed(
    care: WorktreeCare, workspaces: Workspaces, workspace: Workspace
) -> None:
    assert ask(care, "look") == (True, True, False)
    file = Path(workspace.path) / "new.txt"
    file.write_text("new\n")
    assert ask(care, "look") == (True, False, True)
    assert ask(care, "look") == (True, False, True), "a look keeps nothing"
    assert ask(care, "keep") == (True, True, True)
    file.write_text("newer\n")
    removed = care.attend({"name": NAME, "verb": "remove"})
    assert removed.path is None
    assert not Path(workspace.path).exists()
    assert ask(care, "look") == (False, True, False)
    again = workspaces.prepare(workspaces.base("ab12").sha, NAME)
    assert (Path(again.path) / "new.txt").read_text() == "newer\n"


def test_one_in_which_a_process_works_is_not_removed(
    care: WorktreeCare, workspace: Workspace
) -> None:
    with subprocess.Popen(["sleep", "60"], cwd=workspace.path) as process:
        try:
            found = care.attend({"name": NAME, "verb": "remove"})
            assert found.used
            assert found.path == workspace.path
        finally:
            process.kill()


def test_commits_of_its_agent_are_kept_before_it_goes(
    care: WorktreeCare, workspace: Workspace
) -> None:
    git = ("git", "-C", workspace.path, "-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "mine"], check=True)
    assert ask(care, "look") == (True, False, False)
    assert ask(care, "keep") == (True, True, False)
