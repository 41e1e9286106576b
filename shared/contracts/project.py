"""A goal divided into development tasks, each carried out and reviewed (S3.31–S3.54)."""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, model_validator
from pydantic_core import PydanticCustomError

from shared.contracts.complaints import Document, unknown
from shared.contracts.fields import Key, Text

Moment = Annotated[AwareDatetime, Field(strict=False)]


class DevTask(Document):
    """One task of development; its states are those of X16."""

    id: Key
    title: Annotated[Text, Field(min_length=1)]
    description: Text = ""
    acceptance_criteria: list[Text] = Field(default_factory=list)
    depends_on: list[Key] = Field(default_factory=list)
    status: Literal["pending", "running", "review", "approved", "rejected", "failed"] = "pending"
    attempt: Annotated[int, Field(ge=0, description="Which attempt it is at; 0 before any.")] = 0
    max_attempts: Annotated[int, Field(ge=1)] = 3
    dev_report: Text = ""
    review_verdict: Literal["approved", "rejected"] | None = None
    review_comments: list[Text] = Field(default_factory=list)
    rejection_history: Annotated[
        list[Text], Field(description="Why it was rejected, the first time first.")
    ] = Field(default_factory=list)
    started_at: Moment | None = None
    completed_at: Moment | None = None

    @model_validator(mode="after")
    def _within_its_attempts(self) -> "DevTask":
        if self.attempt > self.max_attempts:
            raise _fault(f"is at attempt {self.attempt}, and may have at most {self.max_attempts}")
        if self.started_at and self.completed_at and self.completed_at < self.started_at:
            raise _fault("was completed before it was started")
        return self


class ProjectAnalysis(Document):
    """What a project has already, and what is still missing."""

    current_state: Text
    already_done: list[Text] = Field(default_factory=list)
    remaining_work: list[Text] = Field(default_factory=list)


class ProjectPlan(Document):
    """A project's goal, divided into tasks."""

    project_goal: Annotated[Text, Field(min_length=1)]
    tasks: list[DevTask] = Field(default_factory=list)
    analysis: ProjectAnalysis | None = None
    status: Literal["active", "completed", "failed", "paused"] = "active"
    created_at: Moment | None = None
    updated_at: Moment | None = None
    current_task_id: Key | None = None
    completion_report: Text = ""

    @model_validator(mode="after")
    def _names_what_is_there(self) -> "ProjectPlan":
        keys = [task.id for task in self.tasks]
        doubled = next((key for key in keys if keys.count(key) > 1), None)
        if doubled is not None:
            raise _fault(f"task {doubled!r} stands twice")
        named = [
            (f"task {task.id!r} depends on", key) for task in self.tasks for key in task.depends_on
        ]
        if self.current_task_id is not None:
            named.append(("current_task_id is", self.current_task_id))
        for what, key in named:
            if key not in keys:
                raise _fault(f"{what} {key!r}, which is {unknown(key, keys)}")
        _refuse_a_circle({task.id: set(task.depends_on) for task in self.tasks})
        return self


class ReviewResult(Document):
    """A reviewer's verdict on a finished task."""

    approved: bool
    summary: Text = ""
    comments: list[Text] = Field(default_factory=list)
    tests_passed: bool | None = None
    files_reviewed: list[Text] = Field(default_factory=list)


def _refuse_a_circle(needs: dict[str, set[str]]) -> None:
    settled: set[str] = set()
    while free := {key for key, named in needs.items() if key not in settled and named <= settled}:
        settled |= free
    left = ", ".join(sorted(needs.keys() - settled))
    if left:
        raise _fault(f"these tasks depend on one another in a circle: {left}")


def _fault(what: str) -> Any:
    return PydanticCustomError("project", "{told}", {"told": what})
