"""The bundle as JSON: stored, shown, and sent to a planner."""

from typing import Any

from pydantic import TypeAdapter, ValidationError

from shared.contracts.complaints import describe
from shared.domain.bundle import Bundle
from shared.domain.errors import Defect

_BUNDLE = TypeAdapter(Bundle)


def bundle_to_json(bundle: Bundle) -> dict[str, Any]:
    """The bundle as plain JSON values, its own names as keys."""
    data: dict[str, Any] = _BUNDLE.dump_python(bundle, mode="json")
    return data


def bundle_from_json(data: object) -> Bundle:
    """The bundle that `bundle_to_json` gave; keys that a later version added are ignored.

    Raises Defect when the data is not a bundle, for only this program writes them.
    """
    try:
        return _BUNDLE.validate_python(data)
    except ValidationError as error:
        raise Defect(
            "a stored bundle cannot be read",
            stage="bundle",
            story=tuple(describe(error).splitlines()),
        ) from error


def bundle_schema() -> dict[str, Any]:
    """The JSON Schema of a bundle."""
    return _BUNDLE.json_schema()
