"""Why a workspace cannot be made or kept: the codes of the scripts, as errors."""

from collections.abc import Mapping
from enum import StrEnum

from shared.domain.errors import Misconfigured, Rejected, ReplanError, Transient
from shared.domain.next_step import NextStep
from shared.domain.repository_faults import branch_names, explain_fault
from shared.domain.target import Repository, RepositoryFault
from workers.agents.workspaces.script import Fields, value, values

STAGE = "workspace"


class Code(StrEnum):
    """What the scripts say when they refuse for a reason that is not the repository's."""

    NO_PROC = "no_proc"
    DISK_FULL = "disk_full"
    NO_BASE = "no_base"
    OTHER_BASE = "other_base"
    NO_WORKSPACE = "no_workspace"
    NO_TREE = "no_tree"
    CHECK_OUT = "check_out"
    COPY = "copy"
    SETUP = "setup"


_SENTENCES: Mapping[Code, str] = {
    Code.NO_PROC: "/proc cannot be read on the host",
    Code.DISK_FULL: "the disk of {detail} is full",
    Code.NO_BASE: "the commit {detail} was never fetched for a pass",
    Code.OTHER_BASE: "the attempt has a workspace already, at {detail}",
    Code.NO_WORKSPACE: "the attempt {detail} has no workspace on the host",
    Code.NO_TREE: "the host does not have the tree {detail}",
    Code.CHECK_OUT: "git cannot write its files: {detail}",
    Code.COPY: "a copy failed: {detail}",
    Code.SETUP: "its setup command failed with exit code {exit_code}: {detail}",
}
_FAULTS = frozenset(each.value for each in RepositoryFault)
_NO_TREE_TO_GO_ON_FROM = frozenset({Code.NO_BASE, Code.NO_WORKSPACE, Code.NO_TREE, Code.OTHER_BASE})


def refusal(repository: Repository, fields: Fields) -> ReplanError:
    """The error for what a script refused."""
    code, detail = value(fields, "error"), value(fields, "detail").strip()
    if code in _FAULTS:
        return _of_the_repository(repository, RepositoryFault(code), detail, fields)
    own = Code(code)
    told = _SENTENCES[own].format(detail=detail, exit_code=value(fields, "exit_code"))
    reason = f"the repository {repository.name}: {told}"
    if own in _NO_TREE_TO_GO_ON_FROM:
        return Rejected(reason, stage=STAGE, next_step=NextStep.of("host check", repository.host))
    if own is Code.SETUP:
        step = NextStep.of("repo check", repository.name)
        return Misconfigured(reason, stage="setup", next_step=step)
    return Misconfigured(reason, stage=STAGE, next_step=NextStep.of("host check", repository.host))


def _of_the_repository(
    repository: Repository, fault: RepositoryFault, detail: str, fields: Fields
) -> ReplanError:
    branches = branch_names(values(fields, "branches"))
    told, step = explain_fault(repository, fault, detail, branches)
    reason = f"the repository {repository.name}: {told}"
    away = fault is RepositoryFault.UNREACHABLE and repository.path is None
    return (Transient if away else Misconfigured)(reason, stage=STAGE, next_step=step)


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
