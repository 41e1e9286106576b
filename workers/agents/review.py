"""What a reviewer is asked about a delivery, and how its answer is read."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from pydantic import ValidationError

from shared.contracts.complaints import describe
from shared.contracts.project import DevTask, ReviewResult
from shared.domain.errors import Rejected
from workers.agents.task_text import as_json
from workers.llm.prompt_text import NOTHING, PromptText, join, own, set_apart
from workers.llm.schema_forms import strict, without_nulls

MOST_PATCH: Final = 40_000
"""Bytes of a patch that a reviewer reads with its task; all of it is in the workspace."""

_REST: Final = "This is the beginning of the change only; `git diff {base}` shows all of it."
_MOST_OUTPUT: Final = 6_000
_MOST_SAID: Final = 6_000

READING: Final = (
    "Read",
    *(f"Bash({command} *)" for command in ("git diff", "git log", "git show", "git grep", "ls")),
    "Bash(git diff)",
    "Bash(git log)",
    "Bash(ls)",
)
"""The tools of a reviewer whose program can be held to a list: they only read."""

FORM: Final[Mapping[str, Any]] = strict(ReviewResult.model_json_schema())
"""The JSON Schema of a review (S3.50-S3.54)."""


@cache
def _asked() -> str:
    """What every reviewer is told."""
    return files("workers.agents").joinpath("review.md").read_text(encoding="utf-8").strip()


@dataclass(frozen=True, slots=True)
class ReviewOrder:
    """What a reviewer sees besides the files: the task, the change, and what is known about it.

    `patch` leads from what was accepted before to the judged tree; `cut` says that it is only its
    beginning. `checks` are the results of the checks on that tree, `deliverables` what the author
    says. `base` is the commit or tree from which the patch leads.
    """

    task: DevTask
    patch: str
    base: str
    cut: bool = False
    checks: Sequence[Mapping[str, Any]] = ()
    deliverables: Mapping[str, Any] | None = None


def review_text(order: ReviewOrder) -> str:
    """The task of a reviewer."""
    claimed = json.dumps(order.deliverables or {}, indent=1, ensure_ascii=False)
    parts = (
        own(_asked()),
        own("The development task, with what was wrong with earlier deliveries:"),
        set_apart("task", as_json(order.task)),
        own("What its author says about the work:"),
        set_apart("claims", _beginning(claimed, _MOST_SAID)),
        _checks(order.checks),
        own("The change:"),
        set_apart("change", order.patch),
    )
    return join(*parts, own(_REST.format(base=order.base)) if order.cut else NOTHING).text


def read_review(answer: Mapping[str, Any] | None) -> ReviewResult:
    """The review that a reviewer has given; raises Rejected for an answer that is not one."""
    if answer is None:
        raise Rejected("the reviewer gave no answer in the required form", stage="review")
    try:
        return ReviewResult.model_validate(without_nulls(dict(answer)))
    except ValidationError as error:
        raise Rejected(
            f"the answer of the reviewer cannot be used: {describe(error)}", stage="review"
        ) from error


def reviewers_of(
    named: Sequence[str], startable: Sequence[str], authors: Collection[str]
) -> tuple[str, ...]:
    """The runners that may review, in their order: whoever has no part in it comes first.

    `named` are those of the repository, `startable` those that it has where it names none. Its
    authors may review their own programs' work only in a fresh session, and only as the last ones.
    """
    listed = dict.fromkeys(named or startable)
    return tuple(sorted(listed, key=lambda each: each in authors))


def _checks(checks: Sequence[Mapping[str, Any]]) -> PromptText:
    if not checks:
        return own("No check ran on this tree.")
    lines = []
    for each in checks:
        lines.append(f"$ {each.get('command', '')}\n{each.get('told', '')}")
        lines.append(str(each.get("output", ""))[-_MOST_OUTPUT // len(checks) :])
    return join(own("The checks that ran on this tree:"), set_apart("checks", "\n".join(lines)))


def _beginning(text: str, most: int) -> str:
    left = len(text) - most
    return text if left <= 0 else f"{text[:most]} … ({left} more characters)"
