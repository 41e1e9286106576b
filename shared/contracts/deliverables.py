"""Deliverables, version 1: what the author of a delivery says about it (S2.39-S2.46)."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from shared.contracts.complaints import Document, describe, shorten
from shared.contracts.fields import Text
from shared.domain.delivery import ISSUE_ID, is_issue_id
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep

STAGE: Final = "deliverables"
VERSION: Final = 1

_MOST_NAMED: Final = 10


def _issue(text: str) -> str:
    if is_issue_id(text):
        return text
    raise PydanticCustomError(
        "issue_id",
        "{given} is not the id of an issue; it is L- and at least six digits, as L-000123",
        {"given": repr(text)[:60]},
    )


def _filled(text: str) -> str:
    if text.strip():
        return text
    raise PydanticCustomError("blank", "is empty", {})


IssueId = Annotated[
    str,
    AfterValidator(_issue),
    WithJsonSchema({"type": "string", "pattern": f"^{ISSUE_ID}$"}),
]
"""The id of an issue: `L-000123`."""

Line = Annotated[Text, Field(min_length=1), AfterValidator(_filled)]
"""Text that is not blank."""

Lines = Annotated[list[Line], Field(min_length=1)]


class Deliverables(Document):
    """What a delivery is, in its author's words; `changed_files` are checked, not believed.

    `composed` says that replan wrote it from what it knows, because its author could not.
    """

    schema_version: Annotated[int, Field(ge=VERSION, le=VERSION)]
    issue_id: IssueId
    summary: Annotated[Lines, Field(description="What was done, point by point.")]
    changed_files: Annotated[
        Lines,
        Field(
            description="Every file that was added, changed or deleted, by its path from the root "
            "of the repository; a moved file by both paths."
        ),
    ]
    how_to_verify: Annotated[Lines, Field(description="What shows that it works.")]
    risks: Annotated[
        list[Line], Field(description="What may go wrong because of it; may be empty.")
    ] = Field(default_factory=list)
    composed: bool = False

    def as_json(self) -> dict[str, Any]:
        """The value as JSON data; `composed` stands there only if it is true."""
        return self.model_dump(mode="json", exclude=None if self.composed else {"composed"})


def validate_deliverables(
    value: object, *, issue_id: str, changed_files: Iterable[str]
) -> Deliverables:
    """The deliverables that a value holds: those of that issue, about exactly those files.

    There is no other way to get valid ones (S2.84). Raises Rejected, at stage `deliverables`, for
    a value of another form, of another issue, or with other files than were changed.
    """
    if value is None:
        raise _refusal("the work ended without deliverables")
    try:
        found = Deliverables.model_validate(value)
    except ValidationError as error:
        raise _refusal(f"the deliverables are not valid: {describe(error)}") from error
    if found.issue_id != issue_id:
        raise _refusal(
            f"the deliverables are those of another issue: {found.issue_id}, not {issue_id}"
        )
    _require_files(found.changed_files, frozenset(changed_files))
    return found


def compose_deliverables(
    *,
    issue_id: str,
    summary: Iterable[str],
    changed_files: Iterable[str],
    how_to_verify: Iterable[str],
) -> dict[str, Any]:
    """Deliverables from what replan knows itself, for an author that cannot say them.

    They are to be validated like any others. Blank texts are left out.
    """
    return {
        "schema_version": VERSION,
        "issue_id": issue_id,
        "summary": _filled_ones(summary),
        "changed_files": sorted(changed_files),
        "how_to_verify": _filled_ones(how_to_verify),
        "risks": [],
        "composed": True,
    }


def _filled_ones(texts: Iterable[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]


def _require_files(named: Collection[str], changed: Collection[str]) -> None:
    doubled = sorted(name for name, times in Counter(named).items() if times > 1)
    missing = sorted({*changed} - {*named})
    extra = sorted({*named} - {*changed})
    faults = (
        ("were changed and are missing", missing),
        ("were not changed", extra),
        ("are named twice", doubled),
    )
    told = "; ".join(f"{_listed(names)} {what}" for what, names in faults if names)
    if told:
        raise _refusal(f"changed_files are not the files that were changed: {told}")


def _listed(names: list[str]) -> str:
    told = ", ".join(shorten(repr(name), 120) for name in names[:_MOST_NAMED])
    left = len(names) - _MOST_NAMED
    return told if left <= 0 else f"{told} and {left} more"


def _refusal(reason: str) -> Rejected:
    return Rejected(reason, stage=STAGE, next_step=NextStep.of("schema show", STAGE))
