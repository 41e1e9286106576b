"""The request to an executor and its response (S3.13–S3.30): the form of a pass."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from shared.contracts.agentwork import dump_work
from shared.contracts.complaints import Document, describe
from shared.contracts.fields import Text
from shared.domain.config import Policy
from shared.domain.plan import Step, Subtask

Message = TypeVar("Message", bound=Document)

Status = Literal["ok", "needs_input", "error", "timeout", "blocked", "partial"]


class ExecutorRequest(Document):
    """A pass to carry out: one step on one target, under one revision."""

    task_id: Annotated[Text, Field(min_length=1, description="Which step, and where: T12.2@web1.")]
    goal: Annotated[Text, Field(min_length=1, description="What it is to bring about.")]
    context: Annotated[Text, Field(description="The task that it is a part of.")] = ""
    inputs: Annotated[
        dict[str, Any], Field(description="The subtasks, and what a person answered.")
    ] = Field(default_factory=dict)
    constraints: Annotated[
        dict[str, Any], Field(description="The settings that bound it, by name.")
    ] = Field(default_factory=dict)
    allowed_tools: Annotated[
        list[Text] | None, Field(description="The only programs it may start; any if null.")
    ] = None
    expected_outputs: Annotated[
        list[Text], Field(description="The checks that say whether it is done.")
    ] = Field(default_factory=list)
    deadline_ms: Annotated[int | None, Field(ge=0, description="The sum of its timeouts.")] = None
    corr_id: Annotated[Text, Field(description="Names the pass, and no other.")] = ""
    profile: Annotated[Text, Field(description="Always `default` so far.")] = "default"

    @field_validator("task_id", "goal")
    @classmethod
    def _not_blank(cls, text: str) -> str:
        return _require_text(text)


class ExecutorResponse(Document):
    """How a pass ended."""

    task_id: Annotated[Text, Field(min_length=1)]
    status: Status
    summary: Text = ""
    outputs: Annotated[
        list[dict[str, Any]], Field(description="The last outcome of each subtask.")
    ] = Field(default_factory=list)
    tool_calls: Annotated[
        list[dict[str, Any]], Field(description="Every command that it tried.")
    ] = Field(default_factory=list)
    next_questions: Annotated[
        list[Text], Field(description="What a person has to answer before it goes on.")
    ] = Field(default_factory=list)

    @field_validator("task_id")
    @classmethod
    def _not_blank(cls, text: str) -> str:
        return _require_text(text)


def validate_request(request: ExecutorRequest | Mapping[str, Any]) -> ExecutorRequest:
    """The request in the data.

    Raises ValueError, naming every fault, when task_id or goal is empty, allowed_tools is neither a
    list nor None (S3.29), or anything else of it is not as the schema says.
    """
    return _validate(ExecutorRequest, request)


def validate_response(response: ExecutorResponse | Mapping[str, Any]) -> ExecutorResponse:
    """The response in the data.

    Raises ValueError, naming every fault, when task_id is empty or the status is not allowed
    (S3.30), or anything else of it is not as the schema says.
    """
    return _validate(ExecutorResponse, response)


def request_of(
    step: Step, subtasks: tuple[Subtask, ...], policy: Policy, *, ref: str, corr_id: str, task: str
) -> ExecutorRequest:
    """The request for a pass over these subtasks of a step; `task` is what was asked for."""
    inputs: dict[str, Any] = {
        "subtasks": [
            {"id": s.key, "kind": s.kind.value, "command": s.command, "check": s.check}
            | ({} if s.agent is None else {"agent": dump_work(s.agent)})
            for s in subtasks
        ]
    }
    if step.answer is not None:
        inputs["answers"] = {step.ask_question: step.answer}
    return ExecutorRequest(
        task_id=ref,
        goal=step.instruction.strip() or step.title.strip() or ref,
        context=task,
        inputs=inputs,
        constraints={name: getattr(policy, name) for name in _BOUNDS},
        allowed_tools=None if step.allowed_tools is None else list(step.allowed_tools),
        expected_outputs=[s.check for s in subtasks if s.check is not None],
        deadline_ms=round(sum(s.timeout for s in subtasks) * 1000),
        corr_id=corr_id,
    )


_BOUNDS = (
    "error_threshold_per_step",
    "max_retries_per_command",
    "auto_correction_enabled",
    "dry_run_mode",
    "autonomy",
)


def _validate(kind: type[Message], given: Message | Mapping[str, Any]) -> Message:
    data = dict(vars(given)) if isinstance(given, Document) else given
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise ValueError(describe(error)) from error


def _require_text(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "may not be empty", {})
    return text
