"""Whether an answer would be refused for its form, or for a rule that needs nothing but itself."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from shared.contracts.answers import (
    AdviceAnswer,
    DetailAnswer,
    PlanAnswer,
    RefineAnswer,
    RevisionAnswer,
)
from shared.contracts.complaints import Document, describe
from shared.domain.errors import Rejected
from shared.domain.plan import Author, PlanningRole
from workers.llm.parsing import NotAnAnswer, object_in
from workers.llm.schema_forms import without_nulls

_SOMEBODY = Author(PlanningRole.PLANNER, "anthropic")

_FORMS: dict[str, tuple[type[Document], Callable[[Any], object]]] = {
    "refine": (RefineAnswer, lambda answer: answer),
    "plan": (PlanAnswer, lambda answer: answer.plan(_SOMEBODY)),
    "replan": (PlanAnswer, lambda answer: answer.plan(_SOMEBODY)),
    "detail": (DetailAnswer, lambda answer: answer.to_subtasks()),
    "revise": (RevisionAnswer, lambda answer: answer.to_subtasks()),
    "advise": (AdviceAnswer, lambda answer: answer),
}
"""By the purpose of the question: the form of the answer, and what is made of it."""


def why_refused(purpose: str, text: str) -> str:
    """Why an answer to such a question would be refused; empty if it would not.

    Rules that need more than the answer (the guard's, those about hosts and output) are not asked.
    """
    kind, value = _FORMS[purpose]
    try:
        answer = kind.model_validate(without_nulls(object_in(text)))
        if not getattr(answer, "impossible", "").strip():
            value(answer)
    except ValidationError as error:
        return describe(error)
    except NotAnAnswer as error:
        return str(error)
    except Rejected as error:
        return error.reason
    return ""
