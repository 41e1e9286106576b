"""Why a delivery cannot be published or merged: the codes of the scripts, as errors."""

from collections.abc import Mapping
from enum import StrEnum

from shared.domain.errors import Rejected, ReplanError, Transient
from shared.domain.next_step import NextStep
from shared.domain.target import Repository
from workers.agents.workspaces.refusals import refusal
from workers.agents.workspaces.script import Fields, value


class BundleMismatch(Rejected):
    """A patch that does not make the tree that its bundle names, or none at all."""


class Code(StrEnum):
    """What the scripts say when they refuse for a reason of the delivery's."""

    NO_COMMIT = "no_commit"
    NO_TREE = "no_tree"
    NO_PART = "no_part"
    NO_PAGE = "no_page"
    NOT_ON_LINE = "not_on_line"
    UNAPPLIED = "unapplied"
    OTHER_TREE = "other_tree"


_SENTENCES: Mapping[Code, str] = {
    Code.NO_COMMIT: "the host does not have the commit {detail}",
    Code.NO_TREE: "the host does not have the tree {detail}",
    Code.NO_PART: "a part of the patch did not reach the host: {detail}",
    Code.NO_PAGE: "the host does not have the rest of what git printed: {detail}",
    Code.NOT_ON_LINE: "the base of the delivery {detail} is not on the line of its session",
    Code.UNAPPLIED: "the patch cannot be applied to its base: {detail}",
    Code.OTHER_TREE: "the patch makes the tree {detail}, which is not the one of its bundle",
}
_OWN = frozenset(each.value for each in Code)
# Somebody else has applied the same patch, or read the same pages, meanwhile.
_FLEETING = frozenset({Code.NO_PART, Code.NO_PAGE})
_MISMATCHES = frozenset({Code.UNAPPLIED, Code.OTHER_TREE})


def refusal_of(repository: Repository, fields: Fields, stage: str) -> ReplanError:
    """The error for what a script refused."""
    code, detail = value(fields, "error"), value(fields, "detail").strip()
    if code not in _OWN:
        return refusal(repository, fields)
    own = Code(code)
    reason = f"the repository {repository.name}: {_SENTENCES[own].format(detail=detail)}"
    family: type[ReplanError] = Transient if own in _FLEETING else Rejected
    family = BundleMismatch if own in _MISMATCHES else family
    return family(reason, stage=stage, next_step=NextStep.of("host check", repository.host))
