"""A commit that a host does not have, and one that git cannot read."""

import re
import subprocess
from pathlib import Path

import pytest

from orchestrator.words.sessions import checkpoint_state
from shared.domain.delivery import CheckpointEnding
from shared.domain.errors import Misconfigured
from shared.domain.target import Repository
from tests.fakes.scripted_shell import Answer, ScriptedShell
from workers.deliveries.remote import NotAttested, Remote

REPOSITORY = Repository("app", "web1", "/srv/app")
GONE = "1" * 40


def _run(command: str) -> Answer:
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder for workspaces, with an empty git directory of ours."""
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "app" / "ours.git"], check=True)
    return tmp_path


def _remote(root: Path) -> Remote:
    return Remote(ScriptedShell({re.compile(""): _run}), REPOSITORY, "session/T1", root=str(root))


def test_what_is_missing_is_not_a_word_of_the_remote(root: Path) -> None:
    """Nothing was asked of it."""
    assert _remote(root).head(GONE) is None
    with pytest.raises(NotAttested, match=f"does not have the commit {GONE}"):
        _remote(root).look(GONE)


def test_what_git_cannot_read_is_told_in_its_words(root: Path) -> None:
    """It may well be there."""
    broken = root / "app" / "ours.git" / "objects" / "11"
    broken.mkdir()
    (broken / ("1" * 38)).write_text("no object")
    for call in (_remote(root).head, _remote(root).look):
        with pytest.raises(Misconfigured, match=r"corrupt|inflate|unpack") as raised:
            call(GONE)
        assert not isinstance(raised.value, NotAttested)


@pytest.mark.parametrize("ending", CheckpointEnding)
def test_only_a_remote_that_was_asked_has_refused(ending: CheckpointEnding) -> None:
    told = checkpoint_state(ending.value, "integrate")
    assert ("the remote refused" in told) == (ending is CheckpointEnding.REFUSED)
    assert "under way" not in told
