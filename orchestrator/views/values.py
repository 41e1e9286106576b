"""Values of views whose JSON is the text that people read and type."""

from typing import Annotated

from pydantic import Field, PlainSerializer

from shared.domain.author import Author
from shared.domain.ids import Ref
from shared.domain.next_step import Advice, command_line

RefValue = Annotated[Ref, PlainSerializer(str, return_type=str)]
"""A place in a task; `T12.2@web1` in JSON."""

AuthorValue = Annotated[Author, PlainSerializer(str, return_type=str)]
"""Who planned something; `subtask_planner/runbook` in JSON."""

AdviceValue = Annotated[Advice, PlainSerializer(command_line, return_type=str)]
"""What to do next; in JSON, the command to type."""

NextStepValue = Annotated[AdviceValue | None, Field(serialization_alias="next_step_cmd")]
"""The first thing to do, if anything; JSON uses the name from S2.39."""

NextStepsValue = Annotated[tuple[AdviceValue, ...], Field(serialization_alias="commands")]
"""Everything that a person can do; `commands` in JSON."""
