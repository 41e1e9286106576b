"""What git says about a repository, in words, and the command that helps."""

import shlex
from collections.abc import Iterator
from difflib import get_close_matches

from orchestrator.words.quantities import count_of
from shared.domain.next_step import Advice, Blank, NextStep, ShellCommand
from shared.domain.target import Repository, RepositoryFault, RepositoryNotice, RepositoryReport

_MOST_NAMED = 5


def explain_fault(repository: Repository, report: RepositoryReport) -> tuple[str, Advice]:
    """Why nobody can work in the repository, and what to type next. The report has a fault."""
    host, detail = repository.host, report.detail
    match report.fault:
        case RepositoryFault.NO_GIT:
            return f"git is not installed on {host}", NextStep.of("host check", host)
        case RepositoryFault.ABSENT:
            return f"there is no folder {detail} on {host}", _again(repository)
        case RepositoryFault.UNREADABLE:
            told = f"the account that works on {host} cannot read {detail}"
            return told, ShellCommand(f"ls -ld {shlex.quote(detail)}")
        case RepositoryFault.NO_REPOSITORY:
            return f"{detail} on {host} is not a git repository", _git(repository, "status")
        case RepositoryFault.INSIDE:
            told = f"the path is a folder inside the repository {detail}: name that one"
            return told, _again(repository, detail)
        case RepositoryFault.PARTIAL:
            told = f"{detail} is a partial clone, which lacks objects of its own commits"
            return told, _git(repository, "fetch", "--refetch", "--no-filter")
        case RepositoryFault.EMPTY:
            told = f"{detail} has no commit yet, and only commits count"
            return told, _git(repository, "log")
        case RepositoryFault.NO_BRANCH:
            return _no_branch(report), _again(repository)
        case RepositoryFault.SUBMODULES:
            told = f"it has submodules, which a workspace cannot hold: {detail}"
            return told, _git(repository, "submodule", "status")
        case _:
            told = f"git on {host} cannot read {repository.source}: {detail}"
            return told, ShellCommand(shlex.join(("git", "ls-remote", "--", repository.source)))


def notices(report: RepositoryReport) -> Iterator[str]:
    """What one should know about a repository in which one can work all the same."""
    words = {
        RepositoryNotice.UNCOMMITTED: f"{count_of(report.uncommitted, 'uncommitted file')} there: "
        "only commits count, so agents do not see what is not committed",
        RepositoryNotice.BARE: "it is a bare repository: it has no ignored files to copy",
        RepositoryNotice.SHALLOW: "it is a shallow clone: agents see the end of its history only",
        RepositoryNotice.LFS: "it keeps files with Git LFS: agents see pointers in their place",
    }
    return (words[each] for each in report.notices)


def _no_branch(report: RepositoryReport) -> str:
    near = get_close_matches(report.branch or "", report.branches, n=1)
    listed = tuple(dict.fromkeys((*near, *report.branches)))
    shown = ", ".join(listed[:_MOST_NAMED]) + ("…" if len(listed) > _MOST_NAMED else "")
    return f"it has no branch {report.branch!r}; it has {shown}"


def _again(repository: Repository, path: str | None = None) -> NextStep:
    host = None if repository.host == "localhost" else repository.host
    where = path or Blank("FOLDER")
    if repository.path is None:
        return NextStep.of("repo add", repository.name, url=repository.url, host=host)
    return NextStep.of("repo add", repository.name, path=where, host=host)


def _git(repository: Repository, *words: str) -> ShellCommand:
    place = ("-C", repository.path) if repository.path is not None else ()
    return ShellCommand(shlex.join(("git", *place, *words)))
