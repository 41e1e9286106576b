"""One step of a plan: the common form of plan files and planners' answers."""

from typing import Annotated, Any

from pydantic import Field

from shared.contracts.complaints import Document
from shared.contracts.fields import Key, Text
from shared.domain.question import MOST_OPTIONS


class PlanStep(Document):
    """A main step (S3.2–S3.12)."""

    id: Annotated[
        Key | None, Field(description="What `depends_on` names it by; its number if left out.")
    ] = None
    title: Annotated[Text, Field(min_length=1, description="A headline.")]
    instruction: Annotated[Text, Field(description="What the step is to bring about.")] = ""
    step_type: Annotated[
        Key, Field(description="What kind of step it is, for those who read the plan.")
    ] = "task"
    parallel_group: Annotated[
        Key | None, Field(description="Neighbours of the same group may run side by side.")
    ] = None
    depends_on: Annotated[
        list[Key] | None,
        Field(description="Steps that must be done before; the one before it if left out."),
    ] = None
    parallelizable: Annotated[
        bool | None,
        Field(description="False keeps it from running beside the others of its group."),
    ] = None
    parallelizable_reason: Annotated[Text, Field(description="Why it may, or may not.")] = ""
    allowed_tools: Annotated[
        list[Text] | None,
        Field(description="The only programs that its commands may start; any if left out."),
    ] = None
    repository: Annotated[
        Key | None,
        Field(description="The repository in which it happens; the task's target if left out."),
    ] = None
    ask_question: Annotated[
        Text,
        Field(description="What a person has to answer before it begins; empty for nothing."),
    ] = ""
    ask_options: Annotated[
        list[Annotated[Text, Field(min_length=1)]],
        Field(max_length=MOST_OPTIONS, description="The answers to choose from; none for any."),
    ] = Field(default_factory=list)

    @property
    def own_group(self) -> str | None:
        """The group that it runs beside; none if it may not run in parallel (S3.8)."""
        return None if self.parallelizable is False else self.parallel_group

    def details(self) -> dict[str, Any]:
        """Everything except its place in the plan, as fields of a `Step`."""
        tools = self.allowed_tools
        return {
            "step_type": self.step_type,
            "parallelizable": self.parallelizable,
            "parallelizable_reason": self.parallelizable_reason,
            "allowed_tools": None if tools is None else tuple(tools),
            "ask_question": self.ask_question.strip(),
            "ask_options": tuple(self.ask_options),
            "repository": self.repository or None,
        }
