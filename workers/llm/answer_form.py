"""Whether an answer would be refused for its form, or for a rule that needs nothing but itself."""

from collections.abc import Callable, Collection
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
from shared.contracts.project_answer import ProjectAnswer
from shared.domain.author import Author, PlanningRole
from shared.domain.errors import Rejected
from workers.llm.parsing import NotAnAnswer, object_in
from workers.llm.schema_forms import without_nulls

_SOMEBODY = Author(PlanningRole.PLANNER, "anthropic")

_FORMS: dict[str, tuple[type[Document], Callable[[Any, Collection[str]], object]]] = {
    "refine": (RefineAnswer, lambda answer, _: answer),
    "plan": (PlanAnswer, lambda answer, offered: answer.plan(_SOMEBODY, repositories=offered)),
    "replan": (PlanAnswer, lambda answer, offered: answer.plan(_SOMEBODY, repositories=offered)),
    "project": (
        ProjectAnswer,
        lambda answer, _: (answer.project("goal", 1), answer.plan(_SOMEBODY)),
    ),
    "detail": (DetailAnswer, lambda answer, _: answer.to_subtasks()),
    "revise": (RevisionAnswer, lambda answer, _: answer.to_subtasks()),
    "advise": (AdviceAnswer, lambda answer, _: answer),
}
"""By the purpose of the question: the form of the answer, and what is made of it.

The second argument names the repositories that were offered.
"""


def why_refused(purpose: str, text: str, *, repositories: Collection[str] = ()) -> str:
    """Why an answer to such a question would be refused; empty if it would not.

    Its steps may name these repositories. Rules that need more than the answer (the guard's, those
    about hosts and output) are not asked.
    """
    kind, value = _FORMS[purpose]
    try:
        answer = kind.model_validate(without_nulls(object_in(text)))
        if not getattr(answer, "impossible", "").strip():
            value(answer, repositories)
    except ValidationError as error:
        return describe(error)
    except NotAnAnswer as error:
        return str(error)
    except Rejected as error:
        return error.reason
    return ""
