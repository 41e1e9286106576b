"""The JSON Schemas of answers as providers take them."""

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

from shared.contracts.answers import DetailAnswer, PlanAnswer, RefineAnswer, RevisionAnswer
from shared.contracts.schemas import schema_of
from tests.unit.planning.given import (
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)
from workers.llm.schema_forms import strict, without_nulls

ANSWERS = ("refine-answer", "plan-answer", "detail-answer", "revision-answer", "advice-answer")
USABLE: dict[str, tuple[type[BaseModel], dict[str, Any]]] = {
    "plan-answer": (PlanAnswer, plan_answer(step_answer("a"))),
    "detail-answer": (DetailAnswer, detail_answer(subtask_answer("a"))),
    "revision-answer": (RevisionAnswer, revision_answer(subtask_answer("a"))),
    "refine-answer": (RefineAnswer, {"prompt": "do it"}),
}


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object that a schema describes."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for part in schema.values():
            yield from objects(part)
    if isinstance(schema, list):
        for part in schema:
            yield from objects(part)


@pytest.mark.parametrize("name", ANSWERS)
def test_every_property_is_required_and_no_other_is_allowed(name: str) -> None:
    """Strict schemas demand it; one that does not hold to it is refused as a whole."""
    found = list(objects(strict(schema_of(name))))
    assert found
    for described in found:
        assert described["required"] == list(described["properties"])
        assert described["additionalProperties"] is False


@pytest.mark.parametrize("name", USABLE)
def test_what_may_be_left_out_may_be_null_and_is_read_as_left_out(name: str) -> None:
    kind, answer = USABLE[name]
    filled = with_nulls(answer, schema_of(name), schema_of(name))
    jsonschema.validate(filled, strict(schema_of(name)))
    assert kind.model_validate(without_nulls(filled)) == kind.model_validate(answer)


def with_nulls(value: Any, schema: Any, root: Any) -> Any:
    """The value with null for every property that it leaves out."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if isinstance(value, list):
        return [with_nulls(each, schema["items"], root) for each in value]
    if not isinstance(value, dict):
        return value
    parts = schema["properties"]
    return {
        name: with_nulls(value[name], parts[name], root) if name in value else None
        for name in parts
    }
