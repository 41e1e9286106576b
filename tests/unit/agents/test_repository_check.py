"""What git says about a repository, asked on this machine."""

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.words.repositories import explain_report, notices
from shared.domain.attempt import CommandResult, EndedBy
from shared.domain.errors import Transient
from shared.domain.next_step import command_line
from shared.domain.target import Repository, RepositoryFault, RepositoryNotice, RepositoryReport
from workers.agents.repository_check import check_repository
from workers.agents.workspaces.notices import links_out
from workers.shells.ports import Call, Shell

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Here:
    """Runs a call with the shell of this machine."""

    def run(self, call: Call) -> CommandResult:
        """Run it."""
        done = subprocess.run(
            ("sh", "-c", call.command), check=False, capture_output=True, timeout=call.timeout
        )
        return CommandResult(call.command, done.returncode, done.stdout, done.stderr, NOON, NOON)


class Silent:
    """Ends no call in time."""

    def run(self, call: Call) -> CommandResult:
        """It did not end."""
        return CommandResult(call.command, None, b"", b"", NOON, NOON, ended_by=EndedBy.TIMEOUT)


def report(**place: Any) -> RepositoryReport:
    """The report on a repository on this machine."""
    return check_repository(cast("Shell", Here()), Repository("app", "web1", **place))


def git(folder: Path, *words: str) -> str:
    """Run git there, with an author."""
    who = ("-c", "user.name=T", "-c", "user.email=t@example.com")
    command = ("git", "-C", str(folder), *who, *words)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A repository with one commit on `main`, in a folder with a difficult name."""
    folder = tmp_path / "it's $(here)"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("print(1)\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder


def test_a_repository_tells_where_work_starts(app: Path) -> None:
    git(app, "branch", "other")
    head = git(app, "rev-parse", "HEAD")
    found = report(path=str(app))
    assert (found.branch, found.commit, found.fault) == ("main", head, None)
    assert (set(found.branches), found.notices) == ({"main", "other"}, ())
    assert report(path=str(app), branch="other").branch == "other"
    git(app, "checkout", "-q", "--detach")
    assert (report(path=str(app)).branch, report(path=str(app)).commit) == (None, head)


def test_what_is_not_committed_does_not_count(app: Path) -> None:
    (app / "b.py").write_text("new\n")
    (app / "a.py").write_text("changed\n")
    found = report(path=str(app))
    assert (found.uncommitted, found.notices) == (2, (RepositoryNotice.UNCOMMITTED,))
    assert "2 uncommitted files there: only commits count" in "".join(notices(found))


def test_no_program_of_the_repository_runs(app: Path) -> None:
    """Its configuration and its hooks may name any."""
    trace = app.with_name("ran")
    git(app, "config", "core.fsmonitor", f"touch '{trace}'; false")
    git(app, "config", "filter.lfs.clean", f"touch '{trace}'")
    hook = app / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch '{trace}'\n")
    hook.chmod(0o755)
    (app / ".gitattributes").write_text("*.bin filter=lfs\n")
    git(app, "add", ".gitattributes")
    git(app, "commit", "-q", "-m", "Use LFS")
    trace.unlink(missing_ok=True)
    assert report(path=str(app)).notices == (RepositoryNotice.LFS,)
    assert not trace.exists()


def commit_links(app: Path, target: bytes, count: int) -> None:
    """Commit that many symbolic links to the same target, which may be longer than any system's."""
    ours = ("git", "-C", str(app))
    made = (
        subprocess.run(
            (*ours, "hash-object", "-w", "--stdin"), input=target, check=True, capture_output=True
        )
        .stdout.decode()
        .strip()
    )
    listed = "".join(f"120000 {made}\tlink{number:04}\n" for number in range(count))
    subprocess.run((*ours, "update-index", "--index-info"), input=listed.encode(), check=True)
    git(app, "commit", "-q", "-m", "Link")


@pytest.mark.parametrize("count", [1, 300])
def test_links_of_any_length_are_told_in_a_bounded_size(
    app: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """A shell keeps a megabyte of what a command prints: the whole answer has to fit."""
    commit_links(app, b"../" * 50_000, count)
    printed: list[bytes] = []
    run = Here.run

    def run_here(here: Here, call: Call) -> CommandResult:
        result = run(here, call)
        printed.append(result.stdout)
        return result

    monkeypatch.setattr(Here, "run", run_here)
    found = report(path=str(app))
    assert found.links_out[0] == "link0000"
    assert (found.commit, found.fault) == (git(app, "rev-parse", "HEAD"), None)
    assert sum(map(len, printed)) < 500_000


def test_an_answer_that_was_cut_in_the_middle_is_read_all_the_same() -> None:
    """Its pairs stay pairs: no target is taken for that of another link."""
    whole = (("link", "a"), ("target", "/a"), ("link", "b"), ("target", "in"))
    assert links_out(whole) == ("a",)
    for cut in range(len(whole)):
        left = whole[:cut] + whole[cut + 1 :]
        assert set(links_out(left)) <= {"a"}
    assert links_out((*whole, ("link", "c"), ("link", "d"), ("target", "/d"))) == ("a", "d")
    assert links_out((("target", "/x"), ("link", "e"))) == ()


def _absent(app: Path) -> Mapping[str, str]:
    return {"path": str(app / "none")}


def _file(app: Path) -> Mapping[str, str]:
    return {"path": str(app / "a.py")}


def _plain(app: Path) -> Mapping[str, str]:
    return {"path": str(app.parent)}


def _empty(app: Path) -> Mapping[str, str]:
    git(app.parent, "init", "-q", "fresh")
    return {"path": str(app.with_name("fresh"))}


def _inside(app: Path) -> Mapping[str, str]:
    (app / "sub").mkdir()
    return {"path": str(app / "sub")}


def _no_branch(app: Path) -> Mapping[str, str]:
    return {"path": str(app), "branch": "mian"}


def _submodules(app: Path) -> Mapping[str, str]:
    git(app, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    git(app, "commit", "-q", "-m", "Link")
    return {"path": str(app)}


def _partial(app: Path) -> Mapping[str, str]:
    (app / ".git" / "objects" / "pack" / "pack-1.promisor").touch()
    return {"path": str(app)}


def _unreachable(app: Path) -> Mapping[str, str]:
    return {"url": f"file://{app}/none"}


def _no_branch_there(app: Path) -> Mapping[str, str]:
    return {"url": f"file://{app}", "branch": "mian"}


@pytest.mark.parametrize(
    ("make", "fault", "words"),
    [
        (_absent, "absent", "there is no folder"),
        (_file, "absent", "there is no folder"),
        (_plain, "no_repository", "is not a git repository"),
        (_empty, "empty", "no commit yet"),
        (_inside, "inside", "name that one"),
        (_no_branch, "no_branch", "no branch 'mian'; it has main"),
        (_submodules, "submodules", "submodules, which a workspace cannot hold: lib"),
        (_partial, "partial", "is a partial clone"),
        (_unreachable, "unreachable", "cannot read file://"),
        (_no_branch_there, "no_branch", "no branch 'mian'; it has main"),
    ],
)
def test_where_nobody_can_work(app: Path, make: Any, fault: str, words: str) -> None:
    """Each says what is wrong and what to type next."""
    place = make(app)
    found = report(**place)
    assert found.fault is RepositoryFault(fault)
    reason, step = explain_report(Repository("app", "web1", **place), found)
    assert words in reason
    assert command_line(step)


def test_where_one_can_work_all_the_same(app: Path) -> None:
    """A bare repository, a shallow clone, and one by its URL."""
    bare, shallow = app.with_name("bare"), app.with_name("shallow")
    git(app, "clone", "-q", "--bare", ".", str(bare))
    git(app, "clone", "-q", "--depth", "1", f"file://{app}", str(shallow))
    found = [report(path=str(bare)), report(path=str(shallow)), report(url=f"file://{bare}")]
    assert [(each.branch, each.notices, each.fault) for each in found] == [
        ("main", (RepositoryNotice.BARE,), None),
        ("main", (RepositoryNotice.SHALLOW,), None),
        ("main", (), None),
    ]
    assert len({each.commit for each in found}) == 1


def test_a_host_that_does_not_answer_in_time() -> None:
    with pytest.raises(Transient, match="no answer in 45 s"):
        check_repository(cast("Shell", Silent()), Repository("app", "web1", path="/x"))
