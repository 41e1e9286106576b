"""The JSON Schemas are schemas, and say the same as the reading does."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator, ValidationError

from shared.contracts.schemas import SCHEMAS, schema_of
from shared.domain.errors import Rejected
from tests.unit.planning.given import (
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)

EXAMPLES = Path(__file__).parents[3] / "examples"


def valid(name: str, document: Any) -> bool:
    return bool(Draft202012Validator(schema_of(name)).is_valid(document))


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(schema_of(name))


def test_an_unknown_schema_is_refused_with_what_is_known() -> None:
    with pytest.raises(Rejected, match="did you mean 'plan'"):
        schema_of("plam")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_an_example_fits_its_schema(path: Path) -> None:
    document = yaml.safe_load(path.read_text())
    name = "plan" if "steps" in document else "revision"
    try:
        Draft202012Validator(schema_of(name)).validate(document)
    except ValidationError as error:
        pytest.fail(f"{path.name}: {error.json_path}: {error.message}")


def test_an_answer_fits_its_schema() -> None:
    assert valid("plan-answer", plan_answer(step_answer("a")))
    assert valid("detail-answer", detail_answer(subtask_answer("a")))
    assert valid("revision-answer", revision_answer(subtask_answer("a")))
    assert valid("refine-answer", {"prompt": "p"})


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("plan", {"steps": []}),
        ("plan", {"steps": [{"title": "s", "subtasks": [{"run": "a", "chek": "b"}]}]}),
        ("plan", {"steps": [{"title": "s", "subtasks": [{"run": "a", "timeout": "soon"}]}]}),
        ("revision", {"subtasks": []}),
        ("plan-answer", {"summary": "s", "steps": []}),
        ("detail-answer", detail_answer(subtask_answer("a")) | {"more": 1}),
    ],
)
def test_a_schema_refuses_what_the_reading_refuses(name: str, document: Any) -> None:
    assert not valid(name, document)


@pytest.mark.parametrize("timeout", [2, 0.5, "90s", "5m", "1h30m"])
def test_a_schema_lets_every_form_of_a_timeout_pass(timeout: object) -> None:
    subtask = {"run": "a", "timeout": timeout}
    assert valid("revision", {"subtasks": [subtask]})


RARE = {
    *("ask_question", "ask_options", "step_type", "allowed_tools"),
    *("parallelizable", "parallelizable_reason"),
}
"""What an answer says only where there is something to say."""


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name.endswith("-answer")])
def test_a_model_has_to_fill_in_every_field_of_an_answer(name: str) -> None:
    """What may be left out would be left out; what is not there is an empty text or list."""
    schema = schema_of(name)
    for part in (schema, *schema.get("$defs", {}).values()):
        assert set(part["required"]) >= set(part["properties"]) - RARE
        assert part["additionalProperties"] is False
        for key, field in part["properties"].items():
            assert field.get("description"), f"{name}: {key} is not described"
