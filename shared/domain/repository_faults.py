"""Why nobody can work in a repository, in words, and the command that helps; pure.

One sentence for each fault, whoever met it: `repo add` and `repo check`, or a pass.
"""

import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from shared.domain.next_step import Advice, Blank, NextStep, ShellCommand
from shared.domain.target import Repository, RepositoryFault

OLDEST_GIT = "2.20"
"""The oldest git that workspaces are made with."""

_MOST_NAMED = 8


def explain_fault(
    repository: Repository, fault: RepositoryFault, detail: str, branches: Sequence[str] = ()
) -> tuple[str, Advice]:
    """Why nobody can work there, and what to type next.

    `detail` is what the host or git says of it; `branches` are those that there are.
    """
    host, source = repository.host, repository.source
    said = "; ".join(detail.splitlines())
    sentences = {
        RepositoryFault.NO_GIT: f"git is not installed on {host}",
        RepositoryFault.OLD_GIT: f"git on {host} is {detail}, and workspaces need {OLDEST_GIT} or "
        "newer",
        RepositoryFault.NO_PLACE: f"workspaces cannot be kept on {host}: the account cannot write "
        f"to {detail}, or does not own it",
        RepositoryFault.ABSENT: f"there is no folder {detail} on {host}",
        RepositoryFault.UNREADABLE: f"the account that works on {host} cannot read {detail}",
        RepositoryFault.NO_REPOSITORY: f"{detail} on {host} is not a git repository",
        RepositoryFault.INSIDE: f"the path is a folder inside the repository {detail}: name that "
        "one",
        RepositoryFault.PARTIAL: f"{detail} is a partial clone, which lacks objects of its own "
        "commits",
        RepositoryFault.EMPTY: f"{detail} has no commit yet, and only commits count",
        RepositoryFault.UNBORN_BRANCH: f"the branch that {detail} has checked out has no commit"
        + _listed_branches("", branches),
        RepositoryFault.NO_BRANCH: f"it has no branch {detail!r}"
        + _listed_branches(detail, branches),
        RepositoryFault.NOT_A_COMMIT: f"its branch {detail!r} does not lead to a commit that git "
        "can read",
        RepositoryFault.SUBMODULES: "it has submodules, which a workspace cannot hold: "
        + first_of(detail),
        RepositoryFault.UNREACHABLE: f"git on {host} cannot read {source}: {said}",
        RepositoryFault.NO_REMOTE: f"git on {host} cannot read the remote {repository.remote}: "
        f"{said}",
        RepositoryFault.GIT: f"git on {host} cannot work with {source}: {said}",
    }
    return sentences[fault], _next_step(repository, fault, detail)


def _next_step(repository: Repository, fault: RepositoryFault, detail: str) -> Advice:
    again = _again(repository)
    steps: dict[RepositoryFault, Advice] = {
        RepositoryFault.NO_PLACE: ShellCommand(shlex.join(("ls", "-ld", detail))),
        RepositoryFault.ABSENT: again,
        RepositoryFault.UNREADABLE: ShellCommand(shlex.join(("ls", "-ld", detail))),
        RepositoryFault.NO_REPOSITORY: _git(repository, "status"),
        RepositoryFault.GIT: _git(repository, "status"),
        RepositoryFault.INSIDE: _again(repository, detail),
        RepositoryFault.PARTIAL: _git(repository, "fetch", "--refetch", "--no-filter"),
        RepositoryFault.EMPTY: _git(repository, "log"),
        RepositoryFault.UNBORN_BRANCH: again,
        RepositoryFault.NO_BRANCH: again,
        RepositoryFault.NOT_A_COMMIT: _git(repository, "fsck"),
        RepositoryFault.SUBMODULES: _git(repository, "submodule", "status"),
        RepositoryFault.UNREACHABLE: ShellCommand(
            shlex.join(("git", "ls-remote", "--", repository.source))
        ),
        RepositoryFault.NO_REMOTE: ShellCommand(
            shlex.join(("git", "ls-remote", "--", repository.remote or repository.source))
        ),
    }
    return steps.get(fault, NextStep.of("host check", repository.host))


def first_of(lines: str) -> str:
    """The first of some names, a line each, and how many more there are."""
    names = lines.splitlines()
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def branch_names(fields: Iterable[str]) -> tuple[str, ...]:
    """The names of branches in the references that git printed, a line each."""
    lines = "\n".join(fields).splitlines()
    return tuple(line.removeprefix("refs/heads/") for line in lines)


def _listed_branches(wanted: str, branches: Sequence[str]) -> str:
    """The branches that there are, the likely one first."""
    if not branches:
        return ""
    near = get_close_matches(wanted.casefold(), [name.casefold() for name in branches], n=1)
    names = sorted(branches, key=lambda name: (name.casefold() not in near, name))
    return f"; it has {first_of(chr(10).join(names))}"


def _again(repository: Repository, path: str | None = None) -> NextStep:
    host = None if repository.host == "localhost" else repository.host
    where = path or Blank("FOLDER")
    if repository.path is None:
        return NextStep.of("repo add", repository.name, url=repository.url, host=host)
    return NextStep.of("repo add", repository.name, path=where, host=host)


def _git(repository: Repository, *words: str) -> ShellCommand:
    place = ("-C", repository.path) if repository.path is not None else ()
    return ShellCommand(shlex.join(("git", *place, *words)))
