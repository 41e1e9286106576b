"""What a snippet of kind `code` sets as its `result` (S1.26, S1.27, S3.24, S3.28)."""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.contracts.complaints import Document
from shared.contracts.fields import Text
from shared.domain.question import MOST_OPTIONS, Question

_DEEPEST = 20
"""Results nested deeper than this are refused."""


class Context(BaseModel):
    """What a result says beside whether it went well; anything may stand in it."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    error: Annotated[Any, Field(description="What went wrong.")] = None


class FailureOutput(Document):
    """The message for a snippet that failed without giving a reason (S1.28)."""

    task_id: Annotated[Text, Field(description="What it is about; for those who read it.")] = ""
    status: Literal["Error"] = "Error"
    context: Annotated[Context, Field(description="`error`: what is said to have gone wrong.")]

    @property
    def message(self) -> str:
        """What is said to have gone wrong."""
        return str(self.context.error or self.status)


class CodeResult(BaseModel):
    """The result of a snippet. Where one stands inside another, the innermost decides (S1.45)."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    success: Annotated[bool, Field(description="Whether it went well.")] = True
    target_task: Annotated[Any, Field(description="What it is about.")] = None
    target_status: Annotated[
        Literal["NotStarted", "Running", "Done", "Error"] | None,
        Field(description="What became of that."),
    ] = None
    context: Context | None = None
    status: Annotated[
        Any, Field(description="`needs_input` where a person has to answer something first.")
    ] = None
    next_questions: Annotated[list[Text], Field(description="What the person is asked.")] = Field(
        default_factory=list
    )
    options: Annotated[
        list[Text], Field(max_length=MOST_OPTIONS, description="The answers to choose from.")
    ] = Field(default_factory=list)

    @property
    def error(self) -> str:
        """What went wrong, in its own words; empty if it does not say."""
        given = None if self.context is None else self.context.error
        return "" if given is None else str(given)

    @property
    def question(self) -> Question | None:
        """The question that must be answered before it can go on, None for none."""
        if self.status != "needs_input" or not self.next_questions:
            return None
        return Question("\n".join(self.next_questions), tuple(self.options))


def result_in(printed: str) -> CodeResult | None:
    """The innermost result in the last line that a snippet printed; None if there is none."""
    lines = printed.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except (ValueError, RecursionError):
        return None
    for _ in range(_DEEPEST):
        inner = found.get("result") if isinstance(found, dict) else None
        if not isinstance(inner, dict) or "success" not in inner:
            break
        found = inner
    try:
        return CodeResult.model_validate(found) if isinstance(found, dict) else None
    except ValidationError:
        return None
