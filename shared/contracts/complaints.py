"""Turns pydantic's findings into errors that a person (or a model) can act on."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from shared.contracts.origin import Origin
from shared.contracts.yamltext import Path, YamlText, spell_path
from shared.domain.nearest import nearest


class Document(BaseModel):
    """A mapping with known keys only; unknown ones are refused, each with the nearest known one."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @model_validator(mode="wrap")
    @classmethod
    def _known_keys_only(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        strange = {} if not isinstance(data, Mapping) else _strange(data, cls.model_fields)
        if not strange:
            return handler(data)
        found = [*strange.values()]
        meant = {nearest(str(key), cls.model_fields) for key in strange}
        try:
            handler({key: data[key] for key in data if key not in strange})
        except ValidationError as error:
            found += [
                _again(details)
                for details in error.errors()
                if details["type"] != "missing"
                or len(details["loc"]) > 1
                or details["loc"][0] not in meant
            ]
        raise ValidationError.from_exception_data(cls.__name__, found)

    @classmethod
    def read(cls, text: YamlText, origin: Origin) -> Self:
        """The document in the text; raises the origin's error naming every fault, line by line."""
        try:
            return cls.model_validate(text.data)
        except ValidationError as error:
            raise origin.faults(
                [f"{text.place(path)}: {fault}" for path, fault in faults(error)]
            ) from error


def _strange(data: Mapping[Any, Any], known: Iterable[str]) -> dict[Any, InitErrorDetails]:
    """What is wrong with each key that is not known."""
    allowed = set(known)
    return {
        key: InitErrorDetails(
            type=PydanticCustomError("unknown_key", "{told}", {"told": unknown(key, allowed)}),
            loc=(str(key),),
            input=data[key],
        )
        for key in data
        if key not in allowed
    }


def _again(details: ErrorDetails) -> InitErrorDetails:
    """The same fault, to be raised once more beside others."""
    context = {**details.get("ctx", {}), "told": details["msg"]}
    kind = PydanticCustomError(details["type"], "{told}", context)
    return InitErrorDetails(type=kind, loc=details["loc"], input=details["input"])


def unknown(key: object, known: Iterable[str]) -> str:
    """Says that a key or name is unknown, which one was probably meant, and what is allowed."""
    allowed = sorted(known)
    near = nearest(str(key), allowed)
    meant = f"did you mean {near!r}? " if near else ""
    return f"unknown; {meant}allowed: {', '.join(allowed)}"


def faults(error: ValidationError) -> list[tuple[Path, str]]:
    """Each fault with the path to it, in the order of the document."""
    return [_fault(details) for details in error.errors()]


def describe(error: ValidationError) -> str:
    """All faults, one per line: the path, the value, what is allowed."""
    return "\n".join(f"{spell_path(path)}: {fault}" for path, fault in faults(error))


_PLAIN = {
    "missing": "is missing",
    "string_type": "{given} is not text; text that looks like something else needs quotes",
    "bool_type": "{given} is neither true nor false",
    "list_type": "{given} is not a list",
    "model_type": "{given} is not a mapping of keys to values",
    "model_attributes_type": "{given} is not a mapping of keys to values",
    "dict_type": "{given} is not a mapping of keys to values",
    "float_type": "{given} is not a number",
    "int_type": "{given} is not a whole number",
    "finite_number": "{given} is not a finite number",
    "literal_error": "{given} is not known; allowed: {expected}",
    "too_short": "has to have at least {min_length} of them",
    "too_long": "may have at most {max_length} of them",
    "string_too_short": "may not be empty",
    "string_too_long": "is longer than {max_length} characters",
    "greater_than_equal": "{given} is too small; at least {ge}",
    "less_than_equal": "{given} is too large; at most {le}",
}


def _fault(details: ErrorDetails) -> tuple[Path, str]:
    path: Path = tuple(details["loc"])
    context = details.get("ctx", {})
    if details["type"] == "unknown_key":
        return path, context["told"]
    of_text = f"string_{details['type']}" if isinstance(details["input"], str) else ""
    known = _PLAIN.get(of_text) or _PLAIN.get(details["type"])
    if known is None:
        return path, details["msg"]
    return path, known.format(given=_quote(details["input"]), **context)


def shorten(text: str, longest: int = 60) -> str:
    """The text, its end cut off when it is longer than that many characters."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _quote(value: object) -> str:
    return shorten(repr(value))
