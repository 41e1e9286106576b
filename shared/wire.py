"""Values to JSON and back: one codec for rows, reports and machine output."""

from typing import Any, TypeVar

from pydantic import TypeAdapter

from shared.domain.errors import Defect
from shared.domain.facts import FACTS, Fact
from shared.domain.ids import Ref
from shared.domain.next_step import Advice, ShellCommand

T = TypeVar("T")


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Building an adapter is expensive, so each is built once."""
    if kind not in _ADAPTERS:
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


def encode_fact(fact: Fact) -> tuple[str, dict[str, Any]]:
    """A fact as its kind and body."""
    return type(fact).__name__, to_json(fact)


def decode_fact(kind: str, body: Any) -> Fact:
    """Decode a fact; raises Defect for an unknown kind."""
    known = FACTS.get(kind)
    if known is None:
        raise Defect(f"unknown fact {kind!r}", stage="wire")
    fact: Fact = from_json(known, body)
    return fact


def decode_next_step(data: Any) -> Advice | None:
    """Decode a next step; a text, as older versions stored it, is a command to type."""
    if isinstance(data, str):
        return ShellCommand(data)
    step: Advice | None = from_json(Advice | None, data)  # type: ignore[arg-type]
    return step
