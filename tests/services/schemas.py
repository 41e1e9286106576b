"""What the command line answers, held against its published schemas.

Making and checking a schema costs more than holding an answer against it, so that happens once.
"""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from orchestrator.cli.schemas import schema_of


def validate(answer: dict[str, Any]) -> None:
    """Raise ValidationError unless the schema of its kind accepts the answer."""
    _validator(answer["kind"]).validate(answer)


@cache
def _validator(kind: str) -> Draft202012Validator:
    schema = schema_of(kind)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)
