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
from workers.llm.schema_forms import lean, strict, without_nulls

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


@pytest.mark.parametrize("name", ANSWERS)
def test_a_model_reads_nothing_of_names_and_limits_that_tell_it_nothing(name: str) -> None:
    sent = lean(schema_of(name))
    for described in objects(sent):
        assert "title" not in described or "title" in described["properties"]
        for part in described["properties"].values():
            assert not {"maxLength", "minLength", "default", "title", "pattern"} & set(part)
    for whole, part in zip(objects(schema_of(name)), objects(sent), strict=True):
        assert list(whole["properties"]) == list(part["properties"])


def test_what_only_plan_files_say_of_a_step_is_not_asked_of_a_model() -> None:
    only_files = {"step_type", "parallelizable", "parallelizable_reason", "allowed_tools"}
    asked = schema_of("plan-answer")["$defs"]["StepAnswer"]["properties"]
    assert not only_files & set(asked)
    assert only_files <= set(schema_of("plan-step")["properties"])


@pytest.mark.parametrize("name", ["plan-answer", "detail-answer", "revision-answer"])
def test_a_model_looks_and_considers_before_it_writes_commands(name: str) -> None:
    first, second, *_ = schema_of(name)["properties"]
    assert first == "looks"
    assert second in {"considerations", "diagnosis"}
    assert {first, second} <= set(schema_of(name)["required"])


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
