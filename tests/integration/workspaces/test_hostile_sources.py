"""Repositories that somebody made on purpose, or that changed meanwhile.

What `repo check` says of each, and what a pass does there, is the same.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.domain.errors import Misconfigured, Transient
from shared.domain.repository_faults import OLDEST_GIT
from shared.domain.target import Repository, RepositoryFault, RepositoryReport
from tests.integration.workspaces.conftest import Make
from tests.integration.workspaces.machines import ShOfAMachine
from tests.integration.workspaces.sources import Source, run_git
from workers.agents.repository_check import check_repository
from workers.agents.workspaces.workspaces import Workspaces
from workers.shells.ports import Shell

PASS, NEXT, ATTEMPT = "R1-1-r0-p1", "R1-1-r0-p2", "R1-1-r0-1-p1-t0"

ODD_NAMES = (
    *("-rf", "--help", ":(glob)x", "it's", 'a "b"', "line\nbreak", "back\\slash", "\u00fc", " "),
    *("README", "Readme", "~", "$HOME", "`id`", "a=b", "CON", "x" * 200),
)


def report(shell: Shell, folder: Path) -> RepositoryReport:
    """What `repo check` says, where workspaces may be kept beside the repository."""
    there = Repository("app", "localhost", str(folder))
    return check_repository(shell, there, root=str(folder.parent / "places"))


def plain(source: Source, _: Path) -> Path:
    """With a branch that is checked out."""
    return source.folder


def odd_names(source: Source, _: Path) -> Path:
    """Names that a shell or git could take for something else."""
    for name in ODD_NAMES:
        (source.folder / name).write_text(name)
    for name, target in (("loop", "loop2"), ("loop2", "loop"), ("self", ".")):
        (source.folder / name).symlink_to(target)
    source.commit()
    return source.folder


def odd_folder(source: Source, folder: Path) -> Path:
    """Colons and quotes separate entries of git's lists of directories."""
    moved = folder / 'a:b "c"\nd\\e \u00fc'
    source.folder.rename(moved)
    return moved


def worktree(source: Source, folder: Path) -> Path:
    """Its `.git` is a file."""
    source.git("worktree", "add", "--quiet", "-b", "side", str(folder / "side"))
    return folder / "side"


def sparse(source: Source, _: Path) -> Path:
    """Most of its files are not there, and are not deleted."""
    source.commit(**{"sub/a": "1", "other/b": "2"})
    source.git("sparse-checkout", "set", "sub")
    return source.folder


def split_index(source: Source, _: Path) -> Path:
    """A part of its index lies in another file."""
    source.git("update-index", "--split-index")
    return source.folder


def borrowing(source: Source, folder: Path) -> Path:
    """Its objects are another repository's."""
    source.git("clone", "--quiet", "--shared", str(source.folder), str(folder / "borrower"))
    return folder / "borrower"


def hostile(source: Source, folder: Path) -> Path:
    """Its configuration and its attributes name programs for everything."""
    trace = f"touch '{folder}/ran'"
    source.commit(**{".gitattributes": "* filter=evil diff=evil merge=evil\n", "big": "1\n"})
    (folder / "included").write_text(f"[core]\n\tpager = {trace}\n\teditor = {trace}\n")
    for key, text in {
        "include.path": str(folder / "included"),
        "core.fsmonitor": f"{trace}; false",
        "core.hooksPath": str(folder),
        "core.sshCommand": trace,
        "core.attributesFile": str(folder / "included"),
        "core.askPass": str(folder / "hook"),
        "diff.external": trace,
        "diff.evil.textconv": trace,
        "filter.evil.clean": f"{trace}; cat",
        "filter.evil.smudge": f"{trace}; cat",
        "filter.evil.process": trace,
        "filter.evil.required": "true",
        "uploadpack.packObjectsHook": f"{trace}; exec",
        "gpg.program": trace,
        "credential.helper": f"!{trace}",
        "alias.upload-pack": f"!{trace}",
        "safe.directory": "/nowhere",
    }.items():
        source.git("config", key, text)
    # Only a look at the contents tells whether these have changed.
    for name in ("readme", "big"):
        os.utime(source.folder / name, (1, 1))
    return source.folder


@pytest.mark.parametrize(
    "make_odd", [odd_names, odd_folder, worktree, sparse, split_index, borrowing, hostile]
)
def test_it_is_worked_on(
    make: Make,
    local_shell: Shell,
    source: Source,
    tmp_path: Path,
    make_odd: Callable[[Source, Path], Path],
) -> None:
    """All its files get there, nothing is dirty, and no program of it runs."""
    folder = make_odd(source, tmp_path)
    here = Source(folder)
    tree = here.git("rev-parse", "HEAD^{tree}")
    shutil.rmtree(tmp_path / "ran", ignore_errors=True)
    (tmp_path / "ran").unlink(missing_ok=True)

    found = report(local_shell, folder)
    workspaces = make(path=str(folder))
    base = workspaces.base(PASS)
    workspace = workspaces.prepare(base.sha, ATTEMPT)
    Path(workspace.path, "-new").write_text("new")
    kept = workspaces.snapshot(workspace, whole=True)

    assert (found.fault, found.commit) == (None, base.sha)
    assert found.notices == tuple(each.kind for each in base.notices)
    assert (found.uncommitted, workspace.begun) == (0, tree)
    assert workspaces.changed(tree, kept.tree).paths == ("-new",)
    assert not (tmp_path / "ran").exists()


def no_head(source: Source) -> None:
    (source.folder / ".git/HEAD").write_text("ref: refs/heads/gone\n")


def broken_commit(source: Source) -> None:
    head = source.head
    for each in (source.folder / ".git/objects" / head[:2]).iterdir():
        each.chmod(0o644)
        each.write_bytes(b"broken")


def broken_configuration(source: Source) -> None:
    (source.folder / ".git/config").write_text("[core\n")


def git_directory_elsewhere(source: Source) -> None:
    shutil.rmtree(source.folder / ".git")
    (source.folder / ".git").write_text("gitdir: /nowhere\n")


def files_elsewhere(source: Source) -> None:
    source.git("config", "core.worktree", "/etc")


def broken_repository(source: Source) -> None:
    (source.folder / ".git/HEAD").write_text("\0")


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (no_head, RepositoryFault.UNBORN_BRANCH),
        (broken_commit, RepositoryFault.NOT_A_COMMIT),
        (broken_repository, RepositoryFault.GIT),
        (broken_configuration, RepositoryFault.GIT),
        (git_directory_elsewhere, RepositoryFault.GIT),
        (files_elsewhere, RepositoryFault.GIT),
    ],
)
def test_it_is_refused(
    workspaces: Workspaces,
    local_shell: Shell,
    source: Source,
    spoil: Callable[[Source], None],
    fault: RepositoryFault,
) -> None:
    spoil(source)
    assert report(local_shell, source.folder).fault is fault
    with pytest.raises(Misconfigured) as refused:
        workspaces.base(PASS)
    assert "\n" not in refused.value.reason
    assert str(source.folder) in refused.value.reason or "HEAD" in refused.value.reason


def test_a_branch_that_was_renamed_or_rewritten_meanwhile(make: Make, source: Source) -> None:
    """A run keeps its commit; the next one starts from what is there then."""
    named, current = make(branch="main"), make(name="other")
    first = [named.base(PASS).sha, current.base(PASS).sha]
    source.git("commit", "--quiet", "--amend", "--message=again")
    again = source.head
    assert [named.base(PASS).sha, current.base(PASS).sha] == first
    assert named.base(NEXT).sha == again
    source.git("branch", "--move", "main", "trunk")
    with pytest.raises(Misconfigured, match="no branch 'main'; it has trunk"):
        named.base("R3")
    assert current.base(NEXT).sha == again


def test_a_repository_that_was_moved_meanwhile(
    workspaces: Workspaces, source: Source, local_shell: Shell
) -> None:
    """A run goes on; the next one says what is gone."""
    base = workspaces.base(PASS)
    source.folder.rename(source.folder.with_name("moved"))
    assert workspaces.prepare(base.sha, ATTEMPT).begun
    with pytest.raises(Misconfigured, match="there is no folder"):
        workspaces.base(NEXT)
    assert report(local_shell, source.folder).fault is RepositoryFault.ABSENT


def _machine(tmp_path: Path, **programs: str) -> ShOfAMachine:
    """A machine on which these programs are others."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in programs.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    return ShOfAMachine(Path("/bin/sh"), f"{tools}:{os.environ['PATH']}", tmp_path)


@pytest.mark.parametrize("version", ["1.8.3.1", "2.19.9", "2.7.4 (Apple Git-66)"])
def test_a_git_that_is_too_old(tmp_path: Path, source: Source, version: str) -> None:
    shell = _machine(tmp_path, git=f"echo 'git version {version}'")
    found = report(shell, source.folder)
    assert (found.fault, found.detail) == (RepositoryFault.OLD_GIT, version)
    workspaces = Workspaces(shell, Repository("app", "web1", str(source.folder)))
    with pytest.raises(Misconfigured, match=f"is {version[:5]}.* need {OLDEST_GIT} or newer"):
        workspaces.base(PASS)


def test_a_home_in_which_nothing_can_be_kept(local_shell: Shell, source: Source) -> None:
    """It is told before anything runs."""
    there = Repository("app", "localhost", str(source.folder))
    found = check_repository(local_shell, there, root=f"{source.folder}/readme/x")
    assert found.fault is RepositoryFault.NO_PLACE
    assert found.detail == f"{source.folder}/readme"


@pytest.mark.parametrize("configured", ["", "ssh -i key"])
def test_ssh_never_asks(tmp_path: Path, configured: str) -> None:
    """Neither for a password nor about the key of a host; the account's own options stay."""
    said = tmp_path / "said"
    shell = _machine(tmp_path, ssh=f'echo "$*" >>{said}; echo Host key failed >&2; exit 255')
    if configured:
        (tmp_path / ".gitconfig").write_text(f"[core]\n\tsshCommand = {configured}\n")
    far = Repository("app", "web1", url="git@example.invalid:us/app.git")
    found = check_repository(shell, far)
    with pytest.raises(Transient, match="Host key failed"):
        Workspaces(shell, far).base(PASS)
    assert (found.fault, found.detail[:15]) == (RepositoryFault.UNREACHABLE, "Host key failed")
    lines = said.read_text().splitlines()
    assert len(lines) >= 2
    assert all("-o BatchMode=yes" in line and "ConnectTimeout=" in line for line in lines)
    assert all(("-i key" in line) is bool(configured) for line in lines)


def test_a_source_is_left_as_it_was(local_shell: Shell, source: Source) -> None:
    """A check writes nothing there, not even into its index."""
    os.utime(source.folder / "readme", (1, 1))
    git = source.folder / ".git"
    before = {path: path.stat().st_mtime_ns for path in git.rglob("*")}
    report(local_shell, source.folder)
    assert {path: path.stat().st_mtime_ns for path in git.rglob("*")} == before
    assert run_git(source.folder, "count-objects", "-v")
