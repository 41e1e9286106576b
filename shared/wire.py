"""Values to JSON and back: one codec for rows, reports and machine output."""

from typing import TYPE_CHECKING, Any, TypeVar

from shared.domain.errors import Defect
from shared.domain.ids import Ref
from shared.domain.next_step import Advice, ShellCommand

if TYPE_CHECKING:  # it loads with the first value: `--help` has none
    from pydantic import TypeAdapter

T = TypeVar("T")


_ADAPTERS: dict[Any, "TypeAdapter[Any]"] = {}


def _adapter(kind: Any) -> "TypeAdapter[Any]":
    """Building an adapter is expensive, so each is built once."""
    if kind not in _ADAPTERS:
        from pydantic import TypeAdapter

        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def to_json(value: object) -> Any:
    """A domain value as plain JSON data; a reference becomes its text."""
    if isinstance(value, Ref):
        return str(value)
    if isinstance(value, dict):
        return {key: to_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [to_json(each) for each in value]
    return _adapter(type(value)).dump_python(value, mode="json", by_alias=True)


def from_json(kind: type[T], data: Any) -> T:
    """Decode a value; raises Defect if the data does not fit, because only we have written it."""
    try:
        value: T = _adapter(kind).validate_python(data)
    except ValueError as error:
        raise Defect(
            f"stored {getattr(kind, '__name__', kind)} cannot be read: {error}", stage="wire"
        ) from error
    return value


def decode_next_step(data: Any) -> Advice | None:
    """Decode a next step; a text, as older versions stored it, is a command to type."""
    if isinstance(data, str):
        return ShellCommand(data)
    step: Advice | None = from_json(Advice | None, data)  # type: ignore[arg-type]
    return step
