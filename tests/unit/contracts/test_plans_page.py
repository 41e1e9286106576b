"""The reference of plan files: every example is a plan, and every key of the schema is in one."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from shared.contracts.planfile import load_plan
from shared.contracts.schemas import schema_of
from shared.domain.config import Policy

PAGE: Final = (Path(__file__).parents[3] / "docs/plans.md").read_text(encoding="utf-8")
EXAMPLES: Final = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def keys_of(value: Any) -> Iterator[str]:
    """The keys in a document, at every depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_a_plan(example: str) -> None:
    assert load_plan(example, policy=Policy()).steps


def test_every_key_of_the_schema_is_told_and_shown() -> None:
    schema = schema_of("plan")
    documents = [schema, *schema["$defs"].values()]
    keys = {key for document in documents for key in document.get("properties", {})}
    shown = {key for example in EXAMPLES for key in keys_of(yaml.safe_load(example))}
    assert len(keys) > 40
    assert keys - shown == set(), "no example shows it"
    assert {key for key in keys if f"`{key}`" not in PAGE} == set(), "no word about it"
