"""How work is kept: what a tree holds, what it does not, and that nothing of the agent's runs."""

import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from shared.domain.errors import Rejected
from shared.domain.workspace import LeftOut, Why
from tests.integration.workspaces.conftest import Make
from tests.integration.workspaces.sources import Source, run_git
from workers.agents.workspaces.values import Change, Workspace
from workers.agents.workspaces.workspaces import Workspaces

PASS, ATTEMPT, NEXT = "R1-1-r0-p1", "R1-1-r0-1-p1-t0", "R1-1-r0-1-p1-t1"


@pytest.fixture
def workspace(workspaces: Workspaces) -> Workspace:
    """A workspace of the repository."""
    return workspaces.prepare(workspaces.base(PASS).sha, ATTEMPT)


def tree_of(place: Path, tree: str) -> list[str]:
    """The names in a tree that is kept."""
    listed = run_git(place / "app/ours.git", "ls-tree", "-r", "-z", "--name-only", tree)
    return listed.split("\0")[:-1]


def test_a_snapshot_is_what_git_would_commit(workspaces: Workspaces, workspace: Workspace) -> None:
    """New, changed and removed files; without a change, the same tree."""
    tree = Path(workspace.path)
    (tree / "code").unlink()
    (tree / "readme").write_text("other")
    (tree / "sub/deep").mkdir(parents=True)
    (tree / "sub/deep/new").write_text("new")
    snapshot = workspaces.snapshot(workspace, "15 s")
    run_git(tree, "add", "--all")

    assert snapshot.tree == run_git(tree, "write-tree")
    assert snapshot.head == workspace.base_sha
    assert workspaces.snapshot(workspace) == snapshot


def test_a_change_that_keeps_size_and_time_is_seen(
    workspaces: Workspaces, workspace: Workspace
) -> None:
    """Times that somebody sets do not hide work, and new times alone are no work."""
    code = Path(workspace.path, "code")
    before = code.stat()
    os.utime(code, (1, 1))
    assert workspaces.snapshot(workspace).tree == workspace.begun
    code.write_text("print(2)\n")
    os.utime(code, ns=(before.st_atime_ns, before.st_mtime_ns))

    snapshot = workspaces.snapshot(workspace)

    assert workspaces.changed(workspace.begun, snapshot.tree).paths == ("code",)


def test_nothing_that_the_agent_configures_runs(
    workspaces: Workspaces, workspace: Workspace, place: Path, tmp_path: Path
) -> None:
    """Every program that git would start for its configuration, and its hooks and attributes.

    The same commands with the agent's git directory do start them, so the traps are real.
    """
    tree, ran = Path(workspace.path), tmp_path / "ran"
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >>\'{ran}\'\n[ "$1" = 2 ] || cat\n')
    trap.chmod(0o755)
    config = (
        f'[core]\n\tfsmonitor = "{trap}"\n\thooksPath = "{tmp_path}"\n'
        f'[filter "evil"]\n\tclean = "{trap}"\n\tsmudge = "{trap}"\n\tprocess = "{trap}"\n'
        f'[diff "evil"]\n\tcommand = "{trap}"\n\ttextconv = "{trap}"\n'
        f'[diff]\n\texternal = "{trap}"\n[alias]\n\tadd = "!{trap}"\n\twrite-tree = "!{trap}"\n'
        "[extensions]\n\tworktreeConfig = true\n"
    )
    for folder in (tree / ".git", tree / "nested/.git"):
        (folder / "hooks").mkdir(parents=True, exist_ok=True)
        with (folder / "config").open("a") as file:
            file.write(config)
        (folder / "config.worktree").write_text(config)
        for hook in ("post-index-change", "pre-commit", "reference-transaction"):
            (folder / "hooks" / hook).symlink_to(trap)
    run_git(tree / "nested", "init", "--quiet", GIT_TEMPLATE_DIR="")
    for name in ("post-index-change", "reference-transaction"):
        (tmp_path / name).symlink_to(trap)
    for name in (".git/info/attributes", ".gitattributes", "nested/.gitattributes"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("* filter=evil diff=evil ident\n")
    (tree / "new").write_text("$Id$ new")
    (tree / "nested/file").write_text("file")
    (tree / "code").write_text("changed")

    before = workspaces.snapshot(workspace, whole=True).tree
    (tree / "code").write_text("changed again")
    after = workspaces.snapshot(workspace).tree
    workspaces.changed(before, after)
    workspaces.patch(workspace.begun, after)
    workspaces.restore(workspace, before)
    workspaces.prepare(workspace.base_sha, NEXT, tree=after)
    workspaces.collect(0, idle=0)

    assert not ran.exists()
    kept = ["code", "nested/.gitattributes", "nested/file", "new", "readme", ".gitattributes"]
    assert sorted(tree_of(place, after)) == sorted(kept)
    own = Path(workspaces.prepare(workspace.base_sha, NEXT).path)
    (own / ".git/config").write_text(config)
    subprocess.run(["git", "add", "--all"], cwd=own, capture_output=True, check=False)
    assert ran.exists()


def test_the_agents_git_directory_may_be_gone_or_false(
    workspaces: Workspaces, workspace: Workspace, tmp_path: Path
) -> None:
    """Its own index, branches and history do not matter either."""
    tree = Path(workspace.path)
    (tree / "new").write_text("new")
    (tree / ".git").rename(tmp_path / "away")
    first = workspaces.snapshot(workspace)
    (tree / ".git").write_text("gitdir: /proc/self/root\n")

    assert first.head is None
    assert workspaces.changed(workspace.begun, first.tree).paths == ("new",)
    assert workspaces.snapshot(workspace) == first


@pytest.mark.parametrize("name", ["HEAD", "refs/heads/main", "packed-refs"])
@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_what_never_ends_in_the_git_directory_of_an_agent_holds_nobody_up(
    workspaces: Workspaces, workspace: Workspace, name: str, kind: str
) -> None:
    (Path(workspace.path) / "new").write_text("new")
    git = Path(workspace.path) / ".git"
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    odd = git / name
    odd.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(odd)
    else:
        odd.symlink_to("/dev/zero")
    kept = workspaces.snapshot(workspace)

    assert kept.head is None
    assert workspaces.changed(workspace.begun, kept.tree).paths == ("new",)


def test_commits_of_the_agent_are_kept(
    workspaces: Workspaces, workspace: Workspace, place: Path
) -> None:
    """Also if their work is not in the files any more; only of its objects is anything read."""
    tree, ours = Path(workspace.path), place / "app/ours.git"
    work = Source(tree)
    made = work.commit(new="work that comes and goes")
    work.git("checkout", "--quiet", "-B", "mine", made)
    work.git("pack-refs", "--all")
    (tree / "new").unlink()
    snapshot = workspaces.snapshot(workspace, whole=True)
    workspaces.collect(0, idle=0)

    assert (snapshot.head, snapshot.tree, snapshot.left_out) == (made, workspace.begun, ())
    assert not tree.exists()
    kept = run_git(ours, "show", f"refs/replan/commits/{ATTEMPT}:new")
    assert kept == "work that comes and goes"


def test_commits_that_cannot_be_read_are_named(
    workspaces: Workspaces, workspace: Workspace
) -> None:
    """And keep their workspace."""
    tree = Path(workspace.path)
    (tree / ".git/HEAD").write_text("1" * 40 + "\n")

    assert workspaces.snapshot(workspace, whole=True).left_out == (LeftOut(".git/", Why.HISTORY),)
    assert workspaces.collect(0, idle=0).unkept == (ATTEMPT,)


def test_a_folder_that_became_a_link_is_kept_as_a_link(
    make: Make, source: Source, tmp_path: Path, place: Path
) -> None:
    """Nothing behind it gets into the tree, whatever its name is."""
    source.commit(**{"sub/a": "ours", "sub/deep/b": "ours"})
    workspaces = make()
    workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPT)
    outside = Source(tmp_path / "outside")
    for name in ("a", "deep/b", "other"):
        outside.write(name, "theirs")
    shutil.rmtree(Path(workspace.path, "sub"))
    Path(workspace.path, "sub").symlink_to(outside.folder)
    Path(workspace.path, "new").write_text("new")
    snapshot = workspaces.snapshot(workspace, whole=True)

    assert snapshot.left_out == ()
    assert tree_of(place, snapshot.tree) == ["code", "new", "readme", "sub"]
    assert workspaces.links_out(snapshot.tree) == ("sub",)


def test_an_index_that_is_gone_is_made_again(workspaces: Workspaces, workspace: Workspace) -> None:
    """Nothing but time is lost."""
    Path(workspace.path).with_name("index").unlink()
    Path(workspace.path, "new").write_text("new")
    tree = workspaces.snapshot(workspace).tree

    assert workspaces.changed(workspace.begun, tree).paths == ("new",)


def test_a_workspace_that_became_a_link_is_refused(
    workspaces: Workspaces, workspace: Workspace, tmp_path: Path
) -> None:
    """Nobody has us keep what lies elsewhere."""
    Path(workspace.path).rename(tmp_path / "moved")
    Path(workspace.path).symlink_to(tmp_path)

    with pytest.raises(Rejected, match="has no workspace"):
        workspaces.snapshot(workspace)


def test_nested_repositories_are_kept_as_files(
    workspaces: Workspaces, workspace: Workspace, place: Path
) -> None:
    """With or without commits, one in another, and named; what they ignore stays ignored."""
    tree = Path(workspace.path)
    Source.at(tree / "sub/one", file="1", **{".gitignore": "*.log\n", "x.log": "log"})
    Source.at(tree / "sub/one/two\nlines", file="2")
    Source.at(tree / "sub/none").write("file", "3")
    Source.at(tree / "sub/empty")
    snapshot = workspaces.snapshot(workspace, whole=True)
    (tree / "sub/one/later").write_text("4")
    later = workspaces.snapshot(workspace, whole=True)

    kept = {"sub/one/file", "sub/one/.gitignore", "sub/one/two\nlines/file", "sub/none/file"}
    assert set(tree_of(place, snapshot.tree)) == kept | {"readme", "code"}
    assert workspaces.changed(snapshot.tree, later.tree).paths == ("sub/one/later",)
    for found in (snapshot, later):
        nested = {each.path for each in found.left_out if each.why is Why.NESTED}
        assert nested == {"sub/one/", "sub/one/two\nlines/", "sub/none/", "sub/empty/"}


def test_what_a_tree_does_not_hold_is_named(make: Make, source: Source) -> None:
    """Ignored files, empty folders, files that are too large or cannot be read."""
    source.commit(**{".gitignore": "*.log\nbuild/\n"})
    workspaces = make(largest=100_000)
    workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPT)
    tree = Path(workspace.path)
    for folder in ("build", "empty", "full/empty\ttoo"):
        (tree / folder).mkdir(parents=True)
    for name in ("a.log", "build/x", "full/new", "large\nname", "small"):
        (tree / name).write_text("x" * (200_000 if name.startswith("large") else 10))
    # Git refuses this name on every machine, because on some it is `.git`.
    (tree / "full/.GIT").write_text("x")
    snapshot = workspaces.snapshot(workspace, whole=True)

    assert set(snapshot.left_out) == {
        *(LeftOut(name, Why.EMPTY) for name in ("empty/", "full/empty\ttoo/")),
        *(LeftOut(name, Why.IGNORED) for name in ("a.log", "build/")),
        *(LeftOut(name, Why.LARGE_OR_UNREADABLE) for name in ("large\nname", "full/.GIT")),
    }
    assert workspaces.changed(workspace.begun, snapshot.tree).paths == ("full/new", "small")


@pytest.mark.parametrize("name", ["code", "new", "a b/:(new)", "*", "a\nb"])
def test_a_file_that_outgrows_a_tree_stays_as_it_began(
    make: Make, source: Source, name: str
) -> None:
    """An earlier snapshot may have kept it while it was still small."""
    source.commit(code="begun")
    workspaces = make(largest=100_000)
    workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPT)
    path = Path(workspace.path, name)
    path.parent.mkdir(exist_ok=True)

    def changed_by(content: str) -> tuple[str, ...]:
        path.write_text(content)
        found = workspaces.snapshot(workspace, whole=True)
        left_out = LeftOut(name, Why.LARGE_OR_UNREADABLE) in found.left_out
        assert left_out == (len(content) > 100_000)
        return tuple(workspaces.changed(workspace.begun, found.tree).paths)

    assert changed_by("a part of it") == (name,)
    assert changed_by("x" * 200_000) == ()
    assert changed_by("small again") == (name,)


def test_attributes_cannot_keep_work_from_being_kept(
    workspaces: Workspaces, workspace: Workspace
) -> None:
    """An encoding that a file does not have, or that does not exist: its bytes are kept."""
    tree = Path(workspace.path)
    attributes = "a* working-tree-encoding=UTF-16\nb* working-tree-encoding\nc* text eol=crlf\n"
    (tree / ".gitattributes").write_text(attributes)
    contents = {"a1": b"odd", "b1": b"\xff\0", "c1": b"line\n", "other": b"x"}
    for name, content in contents.items():
        (tree / name).write_bytes(content)
    snapshot = workspaces.snapshot(workspace, whole=True)

    assert snapshot.left_out == ()
    assert workspaces.snapshot(workspace, whole=True) == snapshot
    copy = Path(workspaces.prepare(workspace.base_sha, NEXT, tree=snapshot.tree).path)
    for name, content in contents.items():
        ours = run_git(copy, "hash-object", "--no-filters", str(tree / name))
        assert ours == run_git(copy, "rev-parse", f"{snapshot.tree}:{name}"), content


def test_files_that_change_meanwhile_do_not_stop_it(
    workspaces: Workspaces, workspace: Workspace
) -> None:
    """The agent works on while its work is kept."""
    tree, stop = Path(workspace.path), threading.Event()

    def work() -> None:
        count = 0
        while not stop.is_set():
            count += 1
            path = tree / f"file{count % 50}"
            path.write_text("x" * (count % 999))
            if count % 3 == 0:
                path.unlink()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(10):
            workspaces.snapshot(workspace)
    finally:
        stop.set()
        worker.join()
    last = workspaces.snapshot(workspace).tree
    run_git(tree, "add", "--all")

    assert last == run_git(tree, "write-tree")


def test_a_snapshot_that_was_killed_is_no_obstacle(
    workspaces: Workspaces, workspace: Workspace
) -> None:
    """What it left is removed by the next one."""
    made = Path(workspace.path).parent
    for name in ("index.999999999", "index.999999999.lock", "changed.999999999.old"):
        (made / name).write_text("half")
    Path(workspace.path, "new").write_text("new")

    workspaces.snapshot(workspace)

    assert not list(made.glob("*.999999999*"))


def test_changes_have_their_kind_and_odd_names(
    workspaces: Workspaces, workspace: Workspace
) -> None:
    """As many as asked for; the number is that of all."""
    tree = Path(workspace.path)
    (tree / "code").unlink()
    (tree / "code").symlink_to("readme")
    (tree / "readme").unlink()
    os.mkfifo(tree / "pipe")
    for name in (b"tab\t", b"line\nbreak", b"quote'\"", b"caf\xe9", "ж".encode(), b"-x", b" "):
        Path(os.fsdecode(bytes(tree) + b"/" + name)).write_text("x")
    found = workspaces.changed(workspace.base_sha, workspaces.snapshot(workspace).tree)
    few = workspaces.changed(workspace.base_sha, workspaces.snapshot(workspace).tree, limit=20)

    assert {each.path: each.change for each in found.files} == {
        "code": Change.TYPE_CHANGED,
        "readme": Change.DELETED,
        **dict.fromkeys(
            ("tab\t", "line\nbreak", "quote'\"", "caf\\xe9", "ж", "-x", " "), Change.ADDED
        ),
    }
    assert found.count == few.count == 9
    assert 0 < len(few.files) < 9


def test_a_patch_is_whole_or_says_that_it_is_cut(
    workspaces: Workspaces, workspace: Workspace, source: Source
) -> None:
    """A whole one can be applied and gives the tree again, with binary files and odd names."""
    tree = Path(workspace.path)
    (tree / "bi\tnary").write_bytes(os.urandom(5_000))
    (tree / "code").write_text("print(2)\r\n")
    kept = workspaces.snapshot(workspace).tree
    patch = workspaces.patch(workspace.begun, kept)
    cut = workspaces.patch(workspace.begun, kept, limit=100)

    assert (patch.cut, cut.cut) == (False, True)
    assert cut.text == patch.text[:100]
    (source.folder / "patch").write_bytes(patch.text)
    source.git("apply", "--index", "--whitespace=nowarn", "patch")
    assert source.git("write-tree") == kept
