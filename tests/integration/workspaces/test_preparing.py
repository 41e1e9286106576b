"""How the workspace of an attempt is made, and that it is made once."""

import os
import pwd
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from time import time

import pytest

from shared.domain.errors import Misconfigured, Rejected
from tests.integration.workspaces.conftest import Make
from tests.integration.workspaces.sources import Source, run_git
from workers.agents.workspaces.workspaces import Workspaces

PASS, FIRST, SECOND = "R1-1-r0-p1", "R1-1-r0-1-p1-t0", "R1-1-r0-1-p1-t1"


def files_below(folder: str) -> dict[str, str]:
    """The files of a workspace, without its git directory."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and ".git" not in path.parts:
            found[path.relative_to(folder).as_posix()] = path.read_text()
    return found


def test_a_workspace_is_a_clean_detached_checkout(workspaces: Workspaces, source: Source) -> None:
    """With its own configuration and home, no remote, no branch and no hook."""
    base = workspaces.base(PASS)
    workspace = workspaces.prepare(base.sha, FIRST)
    tree = Path(workspace.path)

    assert base.sha == workspace.base_sha == source.head
    assert files_below(workspace.path) == {"readme": "hello\n", "code": "print(1)\n"}
    assert workspace.begun == source.git("rev-parse", "HEAD^{tree}")
    assert run_git(tree, "status", "--porcelain") == ""
    assert run_git(tree, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    assert run_git(tree, "remote") == run_git(tree, "branch", "--list", "main") == ""
    assert run_git(tree, "log", "--format=%s") == "work"
    assert not (tree / ".git/hooks").exists()
    assert list(Path(workspace.home).iterdir()) == []
    assert tree.name == "app"


def test_an_agent_can_commit_in_it(workspaces: Workspaces, source: Source) -> None:
    """Neither the source nor our git directory gets its commits."""
    workspace = workspaces.prepare(workspaces.base(PASS).sha, FIRST)
    tree = Path(workspace.path)
    (tree / "new").write_text("new")
    environment = {"PATH": os.environ["PATH"], "HOME": workspace.home}
    for words in (["add", "--all"], ["commit", "--quiet", "--message=mine"]):
        subprocess.run(["git", *words], cwd=tree, env=environment, check=True)

    snapshot = workspaces.snapshot(workspace)

    assert snapshot.head == run_git(tree, "rev-parse", "HEAD") != workspace.base_sha
    assert snapshot.tree == run_git(tree, "rev-parse", "HEAD^{tree}")
    assert source.git("for-each-ref") == f"{source.head} commit\trefs/heads/main"


def test_preparing_again_changes_nothing(workspaces: Workspaces) -> None:
    """Whoever takes over finds the same workspace, with the work in it."""
    base = workspaces.base(PASS).sha
    workspace = workspaces.prepare(base, FIRST)
    Path(workspace.path, "code").write_text("half done")

    assert workspaces.prepare(base, FIRST) == workspace
    assert files_below(workspace.path)["code"] == "half done"


def test_parallel_attempts_share_no_tree(workspaces: Workspaces) -> None:
    """Also when they are prepared at the same moment."""
    base = workspaces.base(PASS).sha
    with ThreadPoolExecutor() as threads:
        made = list(threads.map(lambda attempt: workspaces.prepare(base, attempt), (FIRST, SECOND)))
    for workspace in made:
        Path(workspace.path, "code").write_text(workspace.attempt)

    assert len({workspace.path for workspace in made}) == 2
    assert len({workspaces.snapshot(workspace).tree for workspace in made}) == 2


def test_two_drivers_of_one_attempt_get_one_workspace(workspaces: Workspaces, place: Path) -> None:
    """The slower one removes what it has made."""
    base = workspaces.base(PASS).sha
    with ThreadPoolExecutor() as threads:
        made = list(threads.map(lambda _: workspaces.prepare(base, FIRST), range(4)))

    assert len(set(made)) == 1
    assert len(list((place / "app/work").iterdir())) == 1


def test_the_base_of_a_pass_stays(workspaces: Workspaces, source: Source) -> None:
    """Commits that come later are for the next pass."""
    first = workspaces.base(PASS)
    source.commit(readme="changed")

    assert workspaces.base(PASS).sha == first.sha
    assert workspaces.base("R1-1-r0-p2").sha == source.head != first.sha


def test_what_a_killed_prepare_left_is_removed(workspaces: Workspaces, place: Path) -> None:
    """Once nobody is making it any more."""
    base = workspaces.base(PASS).sha
    work = place / "app/work"
    left = work / f"at.{SECOND}.1-1"
    (left / "app").mkdir(parents=True)
    (left / "app/read only").mkdir(mode=0o500)
    (left / "builder").write_text("999999999 1 - -\n")
    young, begun, old = (work / f"at.{name}.1-1" for name in ("young", "begun", "old"))
    for folder in (young, begun, old):
        folder.mkdir()
    for folder in (begun, old):  # its maker was about to write who it is
        (folder / "builder").touch()
    os.utime(old, (time() - 120, time() - 120))

    workspaces.prepare(base, FIRST)

    assert not left.exists()
    assert not old.exists()
    assert young.exists()
    assert begun.exists()


@pytest.mark.parametrize("names", ["attempts", "bases"])
def test_what_is_named_during_a_sweep_stays(names: str, tmp_path: Path) -> None:
    """Another process names a folder and ends, while this one removes a leftover before it."""
    for folder in ("attempts", "bases", "work/at.a.1-1", "work/at.b.1-1", "work/at.c.1-1"):
        (tmp_path / folder).mkdir(parents=True)
    for made in (tmp_path / "work").iterdir():
        (made / "builder").write_text("999999999 1 - -\n")
    folders = files("workers.agents.workspaces").joinpath("folders.sh").read_text()
    publish = f'rm() {{ command rm "$@"; echo at.b.1-1 >"$place/{names}/b"; }}'
    script = f"{folders}\n{publish}\nidentify\nsweep_leftovers"

    subprocess.run(
        ["/bin/sh", "-c", script], env={**os.environ, "place": str(tmp_path)}, check=True
    )

    assert [folder.name for folder in (tmp_path / "work").iterdir()] == ["at.b.1-1"]


def test_a_workspace_that_somebody_removed_comes_back(workspaces: Workspaces) -> None:
    """With the files of its last snapshot."""
    base = workspaces.base(PASS).sha
    workspace = workspaces.prepare(base, FIRST)
    Path(workspace.path, "code").write_text("half done")
    kept = workspaces.snapshot(workspace)
    shutil.rmtree(Path(workspace.path).parent)

    again = workspaces.prepare(base, FIRST)

    assert again.begun == kept.tree
    assert files_below(again.path)["code"] == "half done"


def test_the_next_runner_continues_from_a_tree(workspaces: Workspaces) -> None:
    """What was removed is gone, what was new is there; its git compares with the base."""
    base = workspaces.base(PASS).sha
    first = workspaces.prepare(base, FIRST)
    Path(first.path, "code").unlink()
    Path(first.path, "new").write_text("new")
    kept = workspaces.snapshot(first).tree

    second = workspaces.prepare(base, SECOND, tree=kept)

    assert files_below(second.path) == {"readme": "hello\n", "new": "new"}
    assert second.begun == kept == workspaces.snapshot(second).tree
    assert run_git(Path(second.path), "status", "--porcelain").split("\n") == ["D code", "?? new"]


def test_what_continued_from_a_tree_and_was_removed_comes_back_with_its_own_work(
    workspaces: Workspaces,
) -> None:
    base = workspaces.base(PASS).sha
    before = workspaces.prepare(base, FIRST).begun
    second = workspaces.prepare(base, SECOND, tree=before)
    Path(second.path, "code").write_text("half done")
    kept = workspaces.snapshot(second)
    shutil.rmtree(Path(second.path).parent)

    again = workspaces.prepare(base, SECOND, tree=before)

    assert again.begun == kept.tree


def test_files_can_be_put_back(workspaces: Workspaces) -> None:
    """Those of another tree; what was there is kept first."""
    workspace = workspaces.prepare(workspaces.base(PASS).sha, FIRST)
    Path(workspace.path, "code").write_text("wrong")
    Path(workspace.path, "new").write_text("new")

    before = workspaces.restore(workspace, workspace.begun)

    assert files_below(workspace.path) == {"readme": "hello\n", "code": "print(1)\n"}
    assert workspaces.changed(workspace.begun, before).paths == ("code", "new")


def test_unknown_trees_and_attempts_are_refused(workspaces: Workspaces, source: Source) -> None:
    """By name."""
    workspaces.base(PASS)
    with pytest.raises(Rejected, match="never fetched"):
        workspaces.prepare("0" * 40, FIRST)
    workspace = workspaces.prepare(source.head, FIRST)
    with pytest.raises(Rejected, match="does not have the tree"):
        workspaces.restore(workspace, "1" * 40)
    with pytest.raises(Rejected, match="not a valid name of attempt"):
        workspaces.prepare(source.head, "../x")
    source.commit(readme="2")
    with pytest.raises(Rejected, match="has a workspace already"):
        workspaces.prepare(workspaces.base("R2-1-r0-p1").sha, FIRST)


def test_the_setup_command_runs_once_for_a_base(make: Make, tmp_path: Path) -> None:
    """Parallel attempts get copies of what it made, and cannot change each other's."""
    ledger = tmp_path / "ledger"
    workspaces = make(
        setup=f"echo x >>'{ledger}'; mkdir deps; echo 1 >deps/lib; echo deps >.gitignore"
    )
    base = workspaces.base(PASS).sha
    with ThreadPoolExecutor() as threads:
        made = list(threads.map(lambda attempt: workspaces.prepare(base, attempt), (FIRST, SECOND)))
    Path(made[0].path, "deps/lib").write_text("2")

    assert ledger.read_text() == "x\n"
    assert files_below(made[1].path)["deps/lib"] == "1\n"
    # What the command changed is not the agent's work.
    assert workspaces.snapshot(made[0]).tree == made[0].begun
    assert workspaces.changed(base, made[0].begun).paths == (".gitignore",)
    assert run_git(Path(made[1].path), "status", "--porcelain") == "?? .gitignore"


def test_a_setup_that_was_killed_is_no_obstacle(make: Make, place: Path, tmp_path: Path) -> None:
    """The next one sees that nobody runs it any more."""
    mended = tmp_path / "mended"
    workspaces = make(setup=f"[ -e '{mended}' ] || kill -9 $PPID; echo 1 >made")
    base = workspaces.base(PASS).sha
    with pytest.raises(Misconfigured, match="ended with exit code 137"):
        workspaces.prepare(base, FIRST)
    mended.touch()

    assert files_below(workspaces.prepare(base, FIRST).path)["made"] == "1\n"
    assert not list((place / "app/work").glob("claim.*"))


def test_a_tree_that_names_itself_is_not_copied(make: Make, tmp_path: Path) -> None:
    """As a Python environment does: there, the setup command runs again."""
    ledger = tmp_path / "ledger"
    workspaces = make(setup=f"echo x >>'{ledger}'; pwd >where; ln -s \"$PWD\" link")
    base = workspaces.base(PASS).sha
    made = [workspaces.prepare(base, attempt) for attempt in (FIRST, SECOND)]

    assert ledger.read_text() == "x\n" * 3  # once to see it
    for workspace in made:
        assert files_below(workspace.path)["where"] == f"{workspace.path}\n"


def test_a_setup_command_that_fails_is_told(make: Make, place: Path) -> None:
    """With its exit code and the end of its output; nothing is left, and it can be mended."""
    workspaces = make(setup="echo no such package >&2; exit 7")
    base = workspaces.base(PASS).sha
    with pytest.raises(Misconfigured, match="exit code 7: no such package") as caught:
        workspaces.prepare(base, FIRST)

    assert caught.value.stage == "setup"
    assert files_below(make(setup="true").prepare(base, FIRST).path)["readme"] == "hello\n"
    assert len(list((place / "app/work").iterdir())) == 2  # the workspace and its template


def test_the_setup_command_has_the_account_and_not_our_git(make: Make) -> None:
    """Its home is the account's; git in it is the workspace's own."""
    workspaces = make(setup='echo "$HOME" >home; git rev-parse --show-toplevel >top')
    workspace = workspaces.prepare(workspaces.base(PASS).sha, FIRST)

    account = pwd.getpwuid(os.getuid())
    assert files_below(workspace.path)["home"] == f"{account.pw_dir}\n"
    assert files_below(workspace.path)["top"] == f"{workspace.path}\n"


def test_ignored_files_on_the_list_are_copied(make: Make, source: Source) -> None:
    """Only those; they get into no tree, and what is not there is told."""
    source.commit(**{".gitignore": ".env*\nbuild\n"})
    source.write(".git/info/exclude", "/only here\n")
    for name in (".env", ".env.a b", "conf/.env", "build/x", "only here", "not ignored"):
        source.write(name, name)
    workspaces = make(copied=(".env*", "conf/.env", "no*ne", "readme", "only here", "not ig*"))
    workspace = workspaces.prepare(workspaces.base(PASS).sha, FIRST)

    assert {".env", ".env.a b", "conf/.env", "only here", "not ignored"} < files_below(
        workspace.path
    ).keys()
    assert "build/x" not in files_below(workspace.path)
    assert workspace.missing == ("no*ne", "readme")
    assert run_git(Path(workspace.path), "status", "--porcelain") == ""
    assert workspaces.snapshot(workspace).tree == workspace.begun


def test_nothing_is_copied_through_a_link(make: Make, source: Source, tmp_path: Path) -> None:
    """Whoever copied to where it leads would change what everybody uses."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ".env").write_text("theirs")
    (source.folder / "conf").symlink_to(outside)
    source.commit()
    workspaces = make(copied=("conf/.env",))
    workspace = workspaces.prepare(workspaces.base(PASS).sha, FIRST)

    assert workspace.missing == ("conf/.env",)
    assert (outside / ".env").read_text() == "theirs"


@pytest.mark.parametrize("pattern", ["/etc/passwd", "../x", "a/../../x", "."])
def test_only_files_of_the_repository_are_copied(make: Make, pattern: str) -> None:
    """A pattern that leads elsewhere is refused before anything is done."""
    with pytest.raises(Misconfigured, match="is not a valid pattern"):
        make(copied=(pattern,)).prepare("0" * 40, FIRST)
