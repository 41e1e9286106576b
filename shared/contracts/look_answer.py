"""What a planner wants to see before it answers, as a part of its answer."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from shared.contracts.complaints import Document
from shared.contracts.fields import Command, Text
from shared.domain.look import MOST_LOOKS, Look

LONGEST_LOOK, LONGEST_WHY = 4_000, 400
"""Characters: a look is one short command, and every round of looks is kept as a whole."""

LOOKS = "looks"
"""The field of an answer that holds looks, the first one."""


def _require_all(schema: dict[str, Any]) -> None:
    """Have a model fill in every field, also one that may be missing."""
    schema["required"] = list(schema["properties"])


class LookAnswer(Document):
    """One look."""

    model_config = ConfigDict(json_schema_extra=_require_all)

    command: Annotated[
        Command,
        Field(
            min_length=1,
            max_length=LONGEST_LOOK,
            description="One read-only command for /bin/sh. It ends within ten seconds, prints "
            "little, and changes nothing; anything else is not run.",
        ),
    ]
    why: Annotated[
        Text,
        Field(max_length=LONGEST_WHY, description="What you want to know, in a few words."),
    ]
    host: Annotated[
        Text, Field(description="The target to look at; empty for the one at hand, or the first.")
    ] = ""

    def look(self) -> Look:
        """The value."""
        return Look(self.command, self.why, self.host.strip())


class MayLook(Document):
    """An answer, or in its place what the planner wants to see first."""

    model_config = ConfigDict(json_schema_extra=_require_all)

    looks: Annotated[
        list[LookAnswer],
        Field(
            max_length=MOST_LOOKS,
            description="Normally empty. What you must see on a target before you can answer: it "
            "is run and you are asked again, with its output. Then leave all other fields empty.",
        ),
    ] = Field(default_factory=list)


def looks_in(answer: Mapping[str, object]) -> tuple[Look, ...]:
    """What an answer wants to see first; empty if it is an answer.

    Raises ValidationError for looks of another form; the other fields are not read.
    """
    if not answer.get(LOOKS):
        return ()
    wanted = MayLook.model_validate({LOOKS: answer[LOOKS]})
    return tuple(each.look() for each in wanted.looks)


def without_looks(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an answer that may not look first."""
    fields = {name: field for name, field in schema["properties"].items() if name != LOOKS}
    defined = {n: kind for n, kind in schema.get("$defs", {}).items() if n != LookAnswer.__name__}
    return {**schema, "properties": fields, "required": list(fields), "$defs": defined}
