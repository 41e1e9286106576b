"""Merging under every sh that hosts have, with an old git, and of objects with other names."""

import os
import shutil
from pathlib import Path

import pytest

from shared.domain.target import Repository
from tests.integration.deliveries.test_line import Meta, delivery
from tests.integration.deliveries.trees import EXECUTABLE, FILE, LINK, Files, Objects
from tests.integration.remote.shells import READ_BY, machine
from tests.integration.workspaces.machines import ShOfAMachine
from tests.integration.workspaces.sources import Source, run_git
from workers.agents.workspaces.workspaces import Workspaces
from workers.deliveries.line import Line
from workers.deliveries.values import Conflict, Merged
from workers.shells.ports import Shell

OLD = """#!/bin/sh
case " $* " in *" merge-tree "*) echo 'usage: git merge-tree <base-tree> …' >&2 && exit 129 ;; esac
exec {git} "$@"
"""
LINES = b"".join(b"%d\n" % number for number in range(30))
ODD = b'a "b\n100644 \xff\\'


def plain(content: bytes) -> tuple[str, bytes]:
    """A file."""
    return FILE, content


def change(content: bytes, line: int, by: bytes = b"changed") -> tuple[str, bytes]:
    """The file with one line changed."""
    return FILE, content.replace(b"\n%d\n" % line, b"\n%b\n" % by)


START: Files = {
    b"both": plain(LINES),
    b"ours": plain(b"1\n"),
    b"theirs": plain(b"1\n"),
    b"mode": plain(LINES),
    ODD: plain(LINES),
    b"gone": plain(b"1\n"),
    b"clash": plain(LINES),
    b"link": (LINK, b"ours"),
    b"deleted": plain(LINES),
    b"binary": plain(b"\0" + LINES),
    b"folder": plain(LINES),
}
SESSION: Files = START | {
    b"both": change(LINES, 3),
    b"ours": plain(b"2\n"),
    b"mode": (EXECUTABLE, LINES),
    ODD: change(LINES, 3),
    b"new": plain(b"same\n"),
    b"crlf": plain(b"a\r\n"),
}
DELIVERY: Files = {name: entry for name, entry in START.items() if name != b"gone"} | {
    b"both": change(LINES, 20),
    b"theirs": plain(b"2\n"),
    b"mode": change(LINES, 20),
    ODD: change(LINES, 20),
    b"new": plain(b"same\n"),
    b"a/b": (LINK, b".."),
}
CLASHES: dict[str, tuple[Files, Files, tuple[str, ...]]] = {
    "lines": (
        START | {b"clash": change(LINES, 3, b"session"), ODD: change(LINES, 3, b"session")},
        START | {b"clash": change(LINES, 3, b"delivery"), ODD: change(LINES, 3, b"delivery")},
        ('a "b\n100644 \\xff\\', "clash"),
    ),
    "added": (START | {b"new": plain(b"1\n")}, START | {b"new": plain(b"2\n")}, ("new",)),
    "deleted": (
        {name: entry for name, entry in START.items() if name != b"deleted"},
        START | {b"deleted": change(LINES, 3)},
        ("deleted",),
    ),
    "links": (START | {b"link": (LINK, b"a")}, START | {b"link": (LINK, b"b")}, ("link",)),
    "binary": (
        START | {b"binary": plain(b"\0one")},
        START | {b"binary": plain(b"\0two")},
        ("binary",),
    ),
}


def exercise(shell: Shell, source: Source, root: Path) -> None:
    """Publish, apply elsewhere and merge; then every kind of conflict."""
    repository = Repository("app", "here", str(source.folder))
    Workspaces(shell, repository, root=str(root)).base("R1")
    line, ours = Line(shell, repository, root=str(root)), Objects(root / "app/ours.git")
    base = ours.commit(START)
    sides = [ours.tree(SESSION), ours.tree(DELIVERY)]
    for number, tree in enumerate(sides):
        found = line.publish(base, tree)
        line.apply(Meta(base, tree), found.patch)
        assert line.reverted(base, found.changes) == ()
        assert delivery(number, base, tree).tree == tree
    merged = line.merge(base, [delivery(n, base, tree) for n, tree in enumerate(sides)])
    assert isinstance(merged, Merged)
    expected = SESSION | {
        b"both": change(change(LINES, 3)[1], 20),
        ODD: change(change(LINES, 3)[1], 20),
        b"theirs": plain(b"2\n"),
        b"mode": (EXECUTABLE, change(LINES, 20)[1]),
        b"a/b": (LINK, b".."),
    }
    assert merged.tree == ours.tree({n: e for n, e in expected.items() if n != b"gone"})
    for session, delivered, paths in CLASHES.values():
        sides = [ours.tree(session), ours.tree(delivered)]
        clash = line.merge(base, [delivery(n, base, tree) for n, tree in enumerate(sides)])
        assert isinstance(clash, Conflict)
        assert set(clash.paths) == set(paths)
        assert (clash.delivery, len(clash.line)) == (f"{1:064x}", 1)
        assert ours.has(clash.tree)
        if "clash" in paths:
            text = ours.read(clash.tree, "clash")
            assert b"\n<<<<<<< session\nsession\n=======\ndelivery\n>>>>>>> delivery\n" in text


@pytest.mark.parametrize("old", [False, True], ids=["git", "old git"])
@pytest.mark.parametrize("sh", READ_BY)
def test_every_sh_runs_them(sh: str, old: bool, tmp_path: Path, source: Source) -> None:
    """With busybox, every tool but git is busybox's own; an old git does not merge."""
    found = machine(tmp_path, sh)
    tools, git = tmp_path / "tools", shutil.which("git")
    if old:
        (tools / "git").write_text(OLD.format(git=git))
        (tools / "git").chmod(0o755)
    elif not (tools / "git").exists():
        (tools / "git").symlink_to(str(git))
    exercise(ShOfAMachine(found.sh, found.path, found.home), source, tmp_path / "place")


def test_objects_may_have_longer_names(tmp_path: Path) -> None:
    """Those of a repository with SHA-256."""
    folder = tmp_path / "source"
    folder.mkdir()
    run_git(folder, "init", "--quiet", "--object-format=sha256")
    source = Source(folder)
    source.commit(readme="hello\n")
    shell = ShOfAMachine(Path("/bin/sh"), os.environ["PATH"], tmp_path)
    exercise(shell, source, tmp_path / "place")
