"""Repositories that are not as one would wish: refused by name, or worked on and told."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from shared.domain.errors import Misconfigured, Transient
from shared.domain.target import RepositoryNotice
from tests.integration.workspaces.conftest import Make
from tests.integration.workspaces.sources import ALONE, Source, run_git
from tests.services.availability import not_possible_here
from tests.services.disks import small_disk
from workers.agents.workspaces.values import Base
from workers.agents.workspaces.workspaces import Workspaces

PASS, NEXT, ATTEMPT = "R1-1-r0-p1", "R1-1-r0-p2", "R1-1-r0-1-p1-t0"


def kinds(base: Base) -> list[RepositoryNotice]:
    return [notice.kind for notice in base.notices]


def refused(workspaces: Workspaces) -> str:
    """Why there is no base."""
    with pytest.raises(Misconfigured) as caught:
        workspaces.base(PASS)
    assert caught.value.stage == "workspace"
    assert caught.value.next_step is not None
    return caught.value.reason


def test_only_commits_of_a_dirty_repository_count(workspaces: Workspaces, source: Source) -> None:
    """How many files differ is told; none of them is touched or gets into a workspace."""
    source.commit(**{".gitignore": "ignored\n"})
    for name in ("readme", "new", "ignored"):
        source.write(name, "not committed")
    source.write("staged", "staged")
    source.git("add", "staged")

    base = workspaces.base(PASS)
    workspace = workspaces.prepare(base.sha, ATTEMPT)

    assert [(notice.kind, notice.count) for notice in base.notices] == [
        (RepositoryNotice.UNCOMMITTED, 3)
    ]
    assert Path(workspace.path, "readme").read_text() == "hello\n"
    assert not Path(workspace.path, "new").exists()
    assert source.git("status", "--porcelain").splitlines() == ["M readme", "A  staged", "?? new"]


def test_a_bare_repository_is_worked_on(make: Make, source: Source, tmp_path: Path) -> None:
    """It has no files to be dirty, and no ignored ones."""
    source.git("clone", "--quiet", "--bare", str(source.folder), str(tmp_path / "bare.git"))
    workspaces = make(path=str(tmp_path / "bare.git"), copied=(".env",))
    base = workspaces.base(PASS)

    assert kinds(base) == [RepositoryNotice.BARE]
    assert workspaces.prepare(base.sha, ATTEMPT).missing == (".env",)


def test_a_repository_without_commits_is_refused(make: Make, tmp_path: Path) -> None:
    """With or without the name of a branch."""
    empty = str(Source.at(tmp_path / "empty").folder)

    assert refused(make(path=empty)).endswith("has no commit yet, and only commits count")
    assert "no commit yet" in refused(make(path=empty, branch="main"))


def test_an_unknown_branch_is_refused_with_those_there_are(make: Make, source: Source) -> None:
    """The one that is nearly right comes first, also in another case."""
    for name in ("alpha", "release/1.0"):
        source.git("branch", name)

    assert "no branch 'Main'; it has main, alpha, release/1.0" in refused(make(branch="Main"))
    assert "no branch 'relase/1.0'; it has release/1.0, alpha" in refused(make(branch="relase/1.0"))
    assert "no branch 'a..b'" in refused(make(branch="a..b"))
    assert make(branch="release/1.0").base(PASS).sha == source.head


def test_an_unborn_branch_is_refused(make: Make, source: Source) -> None:
    """Somebody has checked it out and committed nothing yet."""
    source.git("checkout", "--quiet", "--orphan", "fresh")

    assert "has checked out has no commit; it has main" in refused(make())


def test_a_detached_source_is_worked_on(workspaces: Workspaces, source: Source) -> None:
    """At the commit that it has checked out."""
    first = source.head
    source.commit(readme="2")
    source.git("checkout", "--quiet", "--detach", first)

    assert workspaces.base(PASS).sha == first


def test_what_is_no_repository_is_refused(make: Make, source: Source, tmp_path: Path) -> None:
    """Each by its own sentence."""
    (tmp_path / "folder").mkdir()
    (source.folder / "below").mkdir()

    assert "there is no folder" in refused(make(path=str(tmp_path / "nowhere")))
    assert "is not a git repository" in refused(make(path=str(tmp_path / "folder")))
    assert f"inside the repository {source.folder}" in refused(make(path=f"{source.folder}/below"))


def test_a_shallow_repository_is_worked_on(make: Make, source: Source, tmp_path: Path) -> None:
    """Its history ends early there too, which is told."""
    source.commit(readme="2")
    shallow = tmp_path / "shallow"
    run_git(tmp_path, "clone", "--quiet", "--depth=1", source.folder.as_uri(), str(shallow))
    workspaces = make(path=str(shallow))
    base = workspaces.base(PASS)
    workspace = workspaces.prepare(base.sha, ATTEMPT)

    assert kinds(base) == [RepositoryNotice.SHALLOW]
    assert run_git(Path(workspace.path), "rev-list", "--count", "HEAD") == "1"
    Path(workspace.path, "new").write_text("new")
    assert workspaces.changed(base.sha, workspaces.snapshot(workspace).tree).paths == ("new",)


def test_a_partial_clone_is_refused(make: Make, source: Source, tmp_path: Path) -> None:
    """It would fetch from its own remote in the middle of everything."""
    source.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    words = ("--filter=blob:none", "--no-checkout", source.folder.as_uri(), str(partial))
    run_git(tmp_path, "clone", "--quiet", *words)

    assert "is a partial clone" in refused(make(path=str(partial)))


@pytest.mark.parametrize("of_itself", [False, True])
def test_submodules_are_refused(
    workspaces: Workspaces, source: Source, tmp_path: Path, of_itself: bool
) -> None:
    """By name; also one that leads back to the repository itself, which nobody follows."""
    other = source if of_itself else Source.at(tmp_path / "other", file="x")
    words = ("submodule", "--quiet", "add", str(other.folder), "libs/x y")
    source.git("-c", "protocol.file.allow=always", *words)
    source.commit()

    assert "has submodules, which a workspace cannot hold: libs/x y" in refused(workspaces)


def test_large_files_stay_pointers(workspaces: Workspaces, source: Source, tmp_path: Path) -> None:
    """git-lfs is not started, whatever the source or the tree configures; that is told."""
    trace = tmp_path / "ran"
    attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
    source.commit(**{"sub/.gitattributes": attributes, "sub/a.bin": "oid sha256:1\n"})
    source.git("config", "filter.lfs.smudge", f"touch '{trace}'; cat")
    source.git("config", "filter.lfs.clean", f"touch '{trace}'; cat")
    base = workspaces.base(PASS)
    workspace = workspaces.prepare(base.sha, ATTEMPT)

    assert kinds(base) == [RepositoryNotice.LFS]
    assert Path(workspace.path, "sub/a.bin").read_text() == "oid sha256:1\n"
    assert workspaces.snapshot(workspace).tree == workspace.begun
    assert not trace.exists()


def test_no_hook_runs(workspaces: Workspaces, source: Source, tmp_path: Path) -> None:
    """Whatever the source configures, and although they delete something."""
    victim = tmp_path / "victim"
    victim.mkdir()
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    names = ("post-checkout", "post-index-change", "reference-transaction", "pre-commit")
    for folder in (hooks, source.folder / ".git/hooks"):
        folder.mkdir(exist_ok=True)
        for name in (*names, "fsmonitor", "pre-auto-gc", "post-upload-pack"):
            (folder / name).write_text(f"#!/bin/sh\nrm -rf '{victim}'\n")
            (folder / name).chmod(0o755)
    source.git("config", "core.fsmonitor", str(hooks / "fsmonitor"))
    source.git("config", "core.hooksPath", str(hooks))

    workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPT)
    Path(workspace.path, "new").write_text("new")
    workspaces.snapshot(workspace, whole=True)

    assert victim.exists()


def test_links_that_lead_out_are_told(workspaces: Workspaces, source: Source) -> None:
    """They are kept as they are; nothing is written through them."""
    (source.folder / "sub").mkdir()
    for name, target in (
        ("sub/in", "../readme"),
        ("sub/up", "../../elsewhere"),
        ("abs", "/etc/hosts"),
        ("sub/line\nbreak", "a/../../.."),
    ):
        (source.folder / name).symlink_to(target)
    source.commit()
    base = workspaces.base(PASS)
    workspace = workspaces.prepare(base.sha, ATTEMPT)

    assert [(each.kind, each.names) for each in base.notices] == [
        (RepositoryNotice.LINKS_OUT, ("abs", "sub/line\nbreak", "sub/up"))
    ]
    assert workspaces.links_out(workspace.begun) == base.notices[0].names
    assert Path(workspace.path, "abs").readlink() == Path("/etc/hosts")


def test_the_source_may_vanish_afterwards(workspaces: Workspaces, source: Source) -> None:
    """The host has all that belongs to a base: further attempts need nothing else."""
    base = workspaces.base(PASS)
    shutil.rmtree(source.folder)
    workspace = workspaces.prepare(base.sha, ATTEMPT)

    assert workspaces.base(PASS).sha == base.sha
    assert Path(workspace.path, "readme").read_text() == "hello\n"
    assert run_git(Path(workspace.path), "fsck", "--full", "--no-dangling") == ""


def test_the_source_may_drop_its_objects(workspaces: Workspaces, source: Source) -> None:
    """As git does some time after a commit was amended, also out of the packs that we share."""
    source.commit(big="".join(map(str, range(9999))))
    source.git("repack", "-a", "-d", "-q")
    base = workspaces.base(PASS)
    source.git("reset", "--quiet", "--hard", "HEAD~1")
    source.git("reflog", "expire", "--expire=now", "--all")
    source.git("gc", "--quiet", "--prune=now")
    workspace = workspaces.prepare(base.sha, ATTEMPT)

    assert Path(workspace.path, "big").exists()
    assert run_git(Path(workspace.path), "fsck", "--full", "--no-dangling") == ""


def test_packs_are_shared_with_the_source(
    workspaces: Workspaces, source: Source, place: Path
) -> None:
    """On one disk, the history of a repository takes no room again."""
    source.git("repack", "-a", "-d", "-q")
    workspaces.base(PASS)

    packs = list((place / "app/ours.git/objects/pack").glob("*.pack"))
    assert packs
    assert all(pack.stat().st_nlink == 2 for pack in packs)


def test_a_source_that_changes_meanwhile(make: Make, source: Source) -> None:
    """Every base is a commit that the branch once had, with all that belongs to it."""
    script = (
        "i=0; while [ ! -e stop ]; do i=$((i + 1)); echo $i >readme; git commit -qam $i; "
        "[ $((i % 3)) != 0 ] || git commit -q --amend -m again; "
        "[ $((i % 5)) != 0 ] || git gc -q --prune=now; done"
    )
    environment = os.environ | ALONE
    workspaces = make(branch="main")
    with subprocess.Popen(["sh", "-c", script], cwd=source.folder, env=environment) as changing:
        try:
            bases = [workspaces.base(f"R{number}-1-r0-p1") for number in range(5)]
            made = [
                workspaces.prepare(base.sha, f"R{number}-1-r0-1-p1-t0")
                for number, base in enumerate(bases)
            ]
        finally:
            (source.folder / "stop").touch()
            changing.wait()
    for workspace in made:
        assert run_git(Path(workspace.path), "fsck", "--full", "--no-dangling") == ""
        assert workspace.begun == run_git(Path(workspace.path), "rev-parse", "HEAD^{tree}")


def test_a_repository_of_another_object_format(make: Make, tmp_path: Path) -> None:
    """Its names are longer; by path and by URL."""
    folder = tmp_path / "sha256"
    folder.mkdir()
    run_git(folder, "init", "--quiet", "--object-format=sha256", "--initial-branch=main")
    head = Source(folder).commit(readme="hello")
    for name, where in (("one", {"path": str(folder)}), ("two", {"url": folder.as_uri()})):
        workspaces = make(name=name, **{"path": None, **where})
        workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPT)
        Path(workspace.path, "new").mkdir()
        Source.at(Path(workspace.path, "new/nested"), file="x")
        tree = workspaces.snapshot(workspace).tree

        assert workspace.base_sha == head
        assert run_git(Path(workspace.path), "status", "--porcelain") == "?? new/"
        assert workspaces.changed(head, tree).paths == ("new/nested/file",)


def test_a_url_is_fetched_from(make: Make, source: Source) -> None:
    """Without any file of the source; what cannot be reached is tried again later."""
    workspaces = make(path=None, url=source.folder.as_uri(), branch="main")
    assert workspaces.base(PASS).sha == source.head

    with pytest.raises(Misconfigured, match="no branch 'x'; it has main"):
        make(path=None, url=source.folder.as_uri(), branch="x").base(NEXT)
    gone = make(path=None, url=f"file://{source.folder}-gone", branch="main")
    with pytest.raises(Transient, match=r"cannot read .*does not appear to be a git"):
        gone.base(NEXT)
    # A transport that starts a program of its choice is not one.
    with pytest.raises(Transient, match="transport 'ext' not allowed"):
        make(path=None, url="ext::sh -c 'touch /tmp/x'", branch="main").base(NEXT)


def test_a_full_disk_is_told(make: Make, tmp_path: Path) -> None:
    """What was half done is gone when there is room again."""
    with small_disk(tmp_path / "disk", os.geteuid()) as disk:
        if disk is None:
            not_possible_here("only root may mount a disk")
        workspaces = make(root=disk.folder / "place")
        workspace = workspaces.prepare(workspaces.base(PASS).sha, ATTEMPT)
        Path(workspace.path, "new").write_bytes(os.urandom(200_000))
        assert disk.fill()
        with pytest.raises(Misconfigured, match=r"the disk of .* is full"):
            workspaces.snapshot(workspace)
        with pytest.raises(Misconfigured, match=r"the disk of .* is full"):
            workspaces.prepare(workspace.base_sha, "another")
        assert disk.free()
        tree = workspaces.snapshot(workspace).tree
        workspaces.prepare(workspace.base_sha, "another")

        assert workspaces.changed(workspace.begun, tree).paths == ("new",)
        assert len(list((disk.folder / "place/app/work").iterdir())) == 2
