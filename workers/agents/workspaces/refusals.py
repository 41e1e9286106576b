"""Why a workspace cannot be made or kept: the codes of the scripts, as errors."""

import difflib
import shlex
from collections.abc import Mapping
from enum import StrEnum

from shared.domain.errors import Misconfigured, Rejected, ReplanError, Transient
from shared.domain.next_step import Advice, NextStep, ShellCommand
from shared.domain.target import Repository
from workers.agents.workspaces.script import Fields, value, values

STAGE = "workspace"


class Code(StrEnum):
    """What the scripts say when they refuse."""

    NO_GIT = "no_git"
    NO_PROC = "no_proc"
    NO_PLACE = "no_place"
    DISK_FULL = "disk_full"
    NO_SOURCE = "no_source"
    UNREADABLE_SOURCE = "unreadable_source"
    NOT_A_REPOSITORY = "not_a_repository"
    INSIDE_A_REPOSITORY = "inside_a_repository"
    PARTIAL_SOURCE = "partial_source"
    EMPTY_SOURCE = "empty_source"
    UNBORN_BRANCH = "unborn_branch"
    UNKNOWN_BRANCH = "unknown_branch"
    NOT_A_COMMIT = "not_a_commit"
    UNREACHABLE = "unreachable"
    SUBMODULES = "submodules"
    NO_BASE = "no_base"
    OTHER_BASE = "other_base"
    NO_WORKSPACE = "no_workspace"
    NO_TREE = "no_tree"
    CHECK_OUT = "check_out"
    COPY = "copy"
    SETUP = "setup"
    GIT = "git"


_SENTENCES: Mapping[Code, str] = {
    Code.NO_GIT: "git is not installed on the host",
    Code.NO_PROC: "/proc cannot be read on the host",
    Code.NO_PLACE: "the folder {detail} cannot be used: it must be writable, belong to the account "
    "and not be a link",
    Code.DISK_FULL: "the disk of {detail} is full",
    Code.NO_SOURCE: "the folder {detail} does not exist on the host",
    Code.UNREADABLE_SOURCE: "the account cannot read the folder {detail}",
    Code.NOT_A_REPOSITORY: "the folder {detail} is not a git repository",
    Code.INSIDE_A_REPOSITORY: "its path is a folder inside the repository {detail}; name that one",
    Code.PARTIAL_SOURCE: "{detail} is a partial clone, which lacks objects of its own commits; "
    "fetch them all",
    Code.EMPTY_SOURCE: "{detail} has no commits yet, and only commits count",
    Code.UNBORN_BRANCH: "the branch that {detail} has checked out has no commits{branches}",
    Code.UNKNOWN_BRANCH: "it has no branch {detail}{branches}",
    Code.NOT_A_COMMIT: "its branch {detail} does not lead to a commit",
    Code.UNREACHABLE: "git cannot fetch it: {detail}",
    Code.SUBMODULES: "it has submodules ({detail}), which a workspace cannot hold",
    Code.NO_BASE: "the commit {detail} was never fetched for a pass",
    Code.OTHER_BASE: "the attempt has a workspace already, at {detail}",
    Code.NO_WORKSPACE: "the attempt {detail} has no workspace on the host",
    Code.NO_TREE: "the host does not have the tree {detail}",
    Code.CHECK_OUT: "git cannot write its files: {detail}",
    Code.COPY: "a copy failed: {detail}",
    Code.SETUP: "its setup command failed with exit code {exit_code}: {detail}",
    Code.GIT: "git failed: {detail}",
}
_NO_TREE_TO_GO_ON_FROM = frozenset({Code.NO_BASE, Code.NO_WORKSPACE, Code.NO_TREE, Code.OTHER_BASE})
_OF_THE_SOURCE = frozenset(
    {
        Code.NO_SOURCE,
        Code.UNREADABLE_SOURCE,
        Code.NOT_A_REPOSITORY,
        Code.INSIDE_A_REPOSITORY,
        Code.EMPTY_SOURCE,
        Code.UNBORN_BRANCH,
        Code.UNKNOWN_BRANCH,
        Code.NOT_A_COMMIT,
        Code.SUBMODULES,
        Code.SETUP,
    }
)
_SHOWN = 8


def refusal(repository: Repository, fields: Fields) -> ReplanError:
    """The error for what a script refused."""
    code, detail = Code(value(fields, "error")), value(fields, "detail").strip()
    sentence = _SENTENCES[code].format(
        detail=_listed(detail) if code is Code.SUBMODULES else detail,
        exit_code=value(fields, "exit_code"),
        branches=_branches(fields, detail),
    )
    reason = f"the repository {repository.name}: {sentence}"
    if code is Code.UNREACHABLE and repository.path is None:
        return Transient(reason, stage=STAGE, next_step=_next_step(repository, code))
    if code in _NO_TREE_TO_GO_ON_FROM:
        return Rejected(reason, stage=STAGE, next_step=_next_step(repository, code))
    stage = "setup" if code is Code.SETUP else STAGE
    return Misconfigured(reason, stage=stage, next_step=_next_step(repository, code))


def failure(repository: Repository, what: str, said: str) -> ReplanError:
    """The error for a script that ended without a word of its own."""
    detail = f": {said.strip()[-500:]}" if said.strip() else ""
    return Misconfigured(
        f"the repository {repository.name}: {what}{detail}",
        stage=STAGE,
        next_step=NextStep.of("host check", repository.host),
    )


def interrupted(repository: Repository, what: str) -> Transient:
    """The error for a script that somebody or something ended; it may simply be run again."""
    return Transient(
        f"the repository {repository.name}: {what}",
        stage=STAGE,
        next_step=NextStep.of("host check", repository.host),
    )


def _next_step(repository: Repository, code: Code) -> Advice:
    match code:
        case Code.UNREACHABLE:
            return ShellCommand(shlex.join(("git", "ls-remote", "--heads", repository.source)))
        case Code.PARTIAL_SOURCE:
            fetch = ("git", "-C", repository.source, "fetch", "--refetch", "--no-filter")
            return ShellCommand(shlex.join(fetch))
        case _ if code in _OF_THE_SOURCE:
            return NextStep.of("repo check", repository.name)
        case _:
            return NextStep.of("host check", repository.host)


def _listed(names: str) -> str:
    lines = names.splitlines()
    more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return ", ".join(lines[:_SHOWN]) + more


def _branches(fields: Fields, wanted: str) -> str:
    """The branches that there are, the likely one first."""
    lines = "\n".join(values(fields, "branches")).splitlines()
    names = [line.removeprefix("refs/heads/") for line in lines]
    near = difflib.get_close_matches(wanted.casefold(), [name.casefold() for name in names], n=1)
    names.sort(key=lambda name: (name.casefold() not in near, name))
    return f"; it has {_listed(chr(10).join(names))}" if names else ""
