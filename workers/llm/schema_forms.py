"""The JSON Schema of an answer in the forms that providers take it; standard library only."""

import json
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_KEPT = ("$ref", "$defs", "type", "enum", "const", "description", "anyOf", "items", "properties")
"""What every server with strict schemas understands; the rest is checked in the answer itself."""


_NOISE = frozenset({"title", "default", "pattern", "minLength", "maxLength"})
"""What tells a model nothing: names of our classes, and limits that no usable answer meets."""

_NAMED = frozenset({"properties", "$defs"})
"""Where the keys are names of ours."""


def lean(schema: Schema) -> dict[str, Any]:
    """The schema without what only costs tokens; the answer is checked against all of it."""
    return {
        key: {name: lean(each) for name, each in value.items()} if key in _NAMED else _lean(value)
        for key, value in schema.items()
        if key not in _NOISE
    }


def _lean(value: Any) -> Any:
    if isinstance(value, Mapping):
        return lean(value)
    return list(map(_lean, value)) if isinstance(value, list) else value


def strict(schema: Schema) -> dict[str, Any]:
    """The schema with every property required; one that was optional may be null.

    An answer to it is read with `without_nulls`.
    """
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if "$defs" in kept:
        kept["$defs"] = {name: strict(each) for name, each in kept["$defs"].items()}
    if "anyOf" in kept:
        kept["anyOf"] = [strict(each) for each in kept["anyOf"]]
    if "items" in kept:
        kept["items"] = strict(kept["items"])
    if "properties" in kept:
        required = schema.get("required", ())
        kept["properties"] = {
            name: strict(each) if name in required else _or_null(strict(each))
            for name, each in kept["properties"].items()
        }
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    return kept


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    null = {"type": "null"}
    if null in schema.get("anyOf", ()):
        return schema
    told = {"description": schema.pop("description")} if "description" in schema else {}
    return {"anyOf": [*schema.get("anyOf", [schema]), null], **told}


def without_nulls(value: Any) -> Any:
    """The value without the properties that are null: in an answer they mean nothing."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    return value


def in_words(schema: Schema) -> str:
    """What a question says where its schema is sent as text."""
    return f"The JSON Schema of your answer:\n{as_text(schema)}"


def as_text(schema: Schema) -> str:
    """The schema as JSON."""
    return json.dumps(lean(schema), ensure_ascii=False)
