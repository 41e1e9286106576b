"""What workspaces take up, and that nothing goes whose files are not kept."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.integration.remote.hosts import eventually
from tests.integration.workspaces.conftest import Make
from tests.integration.workspaces.sources import Source, run_git
from workers.agents.workspaces.workspaces import Workspaces

PASS = "R1-1-r0-p1"
ATTEMPTS = tuple(f"R1-1-r0-1-p1-t{number}" for number in range(3))
MEGABYTE = 1_000_000


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """A repository of one megabyte that cannot be compressed."""
    return Source.at(tmp_path / "source", big=os.urandom(MEGABYTE // 2).hex())


def test_usage_names_every_workspace(workspaces: Workspaces) -> None:
    """In bytes on the disk, with what is free."""
    base = workspaces.base(PASS).sha
    for attempt in ATTEMPTS[:2]:
        workspaces.prepare(base, attempt)
    usage = workspaces.usage()

    assert usage.attempts.keys() == set(ATTEMPTS[:2])
    assert all(MEGABYTE <= size < 2 * MEGABYTE for size in usage.attempts.values())
    assert 3 * MEGABYTE - MEGABYTE // 2 <= usage.total < 5 * MEGABYTE
    assert 0 < usage.objects < usage.total
    assert usage.free > 0


def test_the_oldest_go_first_and_what_is_open_stays(workspaces: Workspaces, place: Path) -> None:
    """Until there is room; the work in them can be continued."""
    base = workspaces.base(PASS).sha
    made = [workspaces.prepare(base, attempt) for attempt in ATTEMPTS]
    Path(made[1].path, "new").write_text("not kept yet")
    for age, attempt in enumerate(reversed(ATTEMPTS)):
        os.utime(place / "app/attempts" / attempt, (1, time.time() - 100 * age))
    total = workspaces.usage().total

    assert workspaces.collect(total, idle=0).removed == ()
    collected = workspaces.collect(total - MEGABYTE, keep=[ATTEMPTS[0]], idle=0)

    assert collected.removed == (ATTEMPTS[1],)
    assert collected.total <= total - MEGABYTE
    assert [Path(each.path).exists() for each in made] == [True, False, True]
    again = workspaces.prepare(base, ATTEMPTS[1])
    assert Path(again.path, "new").read_text() == "not kept yet"


def test_files_that_cannot_be_kept_keep_their_workspace(make: Make) -> None:
    """It is named, so that a person can look."""
    workspaces = make(largest=MEGABYTE * 2)
    workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPTS[0])
    Path(workspace.path, "large").write_bytes(os.urandom(3 * MEGABYTE))
    collected = workspaces.collect(0, idle=0)

    assert (collected.removed, collected.unkept) == ((), (ATTEMPTS[0],))
    assert Path(workspace.path, "large").exists()
    Path(workspace.path, "large").unlink()
    assert workspaces.collect(0, idle=0).removed == (ATTEMPTS[0],)


def test_a_workspace_with_a_process_in_it_stays(workspaces: Workspaces) -> None:
    """Whatever the caller says is open."""
    workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPTS[0])
    with subprocess.Popen(["cat"], cwd=workspace.path, stdin=subprocess.PIPE) as running:
        while Path(f"/proc/{running.pid}/cwd").readlink() != Path(workspace.path):
            pass
        collected = workspaces.collect(0, idle=0)
        assert (collected.removed, collected.used) == ((), (ATTEMPTS[0],))
        assert running.stdin is not None
        running.stdin.close()

    assert workspaces.collect(0, idle=0).removed == (ATTEMPTS[0],)


def test_read_only_folders_and_links_are_no_obstacle(
    workspaces: Workspaces, tmp_path: Path
) -> None:
    """Links are removed, not what they lead to."""
    workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPTS[0])
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("theirs")
    closed = Path(workspace.path, "closed")
    closed.mkdir()
    (closed / "file").write_text("x")
    (closed / "link").symlink_to(outside)
    closed.chmod(0o500)
    outside.chmod(0o500)
    collected = workspaces.collect(0, idle=0)
    outside.chmod(0o700)

    assert collected.removed == (ATTEMPTS[0],)
    assert (outside / "file").read_text() == "theirs"
    assert not Path(workspace.path).parent.exists()


def test_trees_are_never_removed(make: Make, place: Path) -> None:
    """A template may go, because the setup command makes it again; no tree does."""
    workspaces = make(setup="echo 1 >made")
    workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPTS[0])
    Path(workspace.path, "new").write_text("new")
    tree = workspaces.snapshot(workspace).tree
    for template in (place / "app/bases").iterdir():
        os.utime(template, (1, 1))
    ours = place / "app/ours.git"
    workspaces.collect(0, idle=0)
    collected = workspaces.collect(0, idle=0)
    subprocess.run(["git", "fsck", "--full", "--strict"], cwd=ours, check=True, capture_output=True)

    assert list((place / "app/work").iterdir()) == []
    assert collected.total > 0
    assert "new" in run_git(ours, "ls-tree", "--name-only", tree).split()
    again = workspaces.prepare(workspace.base_sha, ATTEMPTS[1], tree=tree)
    assert Path(again.path, "new").read_text() == "new"


def test_old_trees_that_were_replaced_go(workspaces: Workspaces, place: Path) -> None:
    """An agent that changes a large file again and again does not fill the disk with it."""
    workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPTS[0])
    work = Source(Path(workspace.path))
    made = work.commit(new=os.urandom(MEGABYTE).hex())
    work.write("new", os.urandom(MEGABYTE).hex())
    workspaces.snapshot(workspace)
    work.write("new", os.urandom(MEGABYTE).hex())
    tree = workspaces.snapshot(workspace).tree
    for path in (place / "app/ours.git/objects").glob("??/*"):
        os.utime(path, (1, time.time() - 200_000))
    before = workspaces.usage().objects
    workspaces.collect(0, keep=[ATTEMPTS[0]])

    assert workspaces.usage().objects < before
    ours = place / "app/ours.git"
    for commit in (made, tree, workspace.base_sha):
        run_git(ours, "rev-list", "--objects", commit)
    assert work.git("fsck", "--full", "--no-dangling") == ""


def test_preparing_collects_once_an_hour(make: Make, place: Path) -> None:
    """Beside the caller; what was used in the last day stays, as does what is asked for."""
    workspaces = make(cap=0)
    base = workspaces.base(PASS).sha
    (place / "app/.sized").touch()
    made = [workspaces.prepare(base, attempt) for attempt in ATTEMPTS]
    for attempt in ATTEMPTS[:2]:
        os.utime(place / "app/attempts" / attempt, (1, time.time() - 90_000))
    os.utime(place / "app/.sized", (1, time.time() - 4_000))

    workspaces.prepare(base, ATTEMPTS[0])
    workspaces.prepare(base, "another")

    assert eventually(lambda: not Path(made[1].path).parent.exists(), within=30)
    assert [Path(each.path).exists() for each in made] == [True, False, True]
