"""The JSON Schemas of all data formats, by name."""

from collections.abc import Callable
from typing import Any

from shared.contracts.agent_tasks import TasksDocument
from shared.contracts.answers import (
    AdviceAnswer,
    DetailAnswer,
    PlanAnswer,
    RefineAnswer,
    RevisionAnswer,
)
from shared.contracts.backlog import BacklogDocument
from shared.contracts.bundle import bundle_schema
from shared.contracts.coderesult import CodeResult
from shared.contracts.complaints import unknown
from shared.contracts.deliverables import Deliverables
from shared.contracts.documents import PlanDocument, RevisionDocument
from shared.contracts.exchange import ExecutorRequest, ExecutorResponse
from shared.contracts.planstep import PlanStep
from shared.contracts.project import DevTask, ProjectAnalysis, ProjectPlan, ReviewResult
from shared.contracts.project_answer import ProjectAnswer
from shared.domain.errors import Rejected

_SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "plan": PlanDocument.model_json_schema,
    "agent-tasks": TasksDocument.model_json_schema,
    "backlog": BacklogDocument.model_json_schema,
    "revision": RevisionDocument.model_json_schema,
    "bundle": bundle_schema,
    "plan-answer": PlanAnswer.model_json_schema,
    "project-answer": ProjectAnswer.model_json_schema,
    "detail-answer": DetailAnswer.model_json_schema,
    "revision-answer": RevisionAnswer.model_json_schema,
    "advice-answer": AdviceAnswer.model_json_schema,
    "refine-answer": RefineAnswer.model_json_schema,
    "plan-step": PlanStep.model_json_schema,
    "executor-request": ExecutorRequest.model_json_schema,
    "executor-response": ExecutorResponse.model_json_schema,
    "code-result": CodeResult.model_json_schema,
    "deliverables": Deliverables.model_json_schema,
    "dev-task": DevTask.model_json_schema,
    "project-analysis": ProjectAnalysis.model_json_schema,
    "project-plan": ProjectPlan.model_json_schema,
    "review-result": ReviewResult.model_json_schema,
}

SCHEMAS = tuple(_SCHEMAS)
"""The names that `schema_of` knows."""


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of that name; raises Rejected when there is none."""
    if name not in _SCHEMAS:
        raise Rejected(f"{name!r} is {unknown(name, SCHEMAS)}", stage="input")
    return _SCHEMAS[name]()
