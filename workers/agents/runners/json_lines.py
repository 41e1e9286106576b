"""A stream of JSON objects, one on each line, from a program that promises nothing."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from workers.agents.events import Unreadable

LONGEST_LINE: Final = 16_000_000
"""Bytes of a line that is still read."""

MOST_SHOWN: Final = 8_000
"""Characters of a tool's result that are kept for people."""

_SHOWN: Final = 200
"""Bytes of an unreadable line that are kept."""

MOST: Final = 2**53
"""No count and no amount is larger; what a program says beyond it is taken as this."""

JsonObject = Mapping[str, Any]


class JsonLines:
    """Cuts chunks into lines. It never holds more than one line of at most LONGEST_LINE bytes."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._line = bytearray()
        self._too_long = False

    def feed(self, chunk: bytes) -> Iterator[JsonObject | Unreadable]:
        """The objects of all lines that are whole with this chunk."""
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            self._keep(chunk, begin, end)
            if (value := self._take()) is not None:
                yield value
            begin = end + 1
        self._keep(chunk, begin, len(chunk))

    def rest(self) -> JsonObject | None:
        """The object of a last line without a line feed; None if it is torn."""
        value = self._take()
        return None if isinstance(value, Unreadable) else value

    def _keep(self, chunk: bytes, begin: int, end: int) -> None:
        if self._too_long:
            return
        self._too_long = len(self._line) + end - begin > self._longest
        self._line += chunk[begin : begin + _SHOWN if self._too_long else end]
        if self._too_long:
            del self._line[_SHOWN:]

    def _take(self) -> JsonObject | Unreadable | None:
        line, self._line = bytes(self._line), bytearray()
        too_long, self._too_long = self._too_long, False
        if not line.strip():
            return None
        value = None if too_long else parse_json(line.decode("utf-8", "replace"))
        return value if isinstance(value, dict) else Unreadable(line[:_SHOWN])


def parse_json(text: str) -> Any:
    """The value of a JSON text; None if it is not valid, or nested too deeply."""
    try:
        return _cleaned(json.loads(text)) if "\\ud" in text.lower() else json.loads(text)
    except (ValueError, RecursionError):
        return None


def canonical(value: object) -> str:
    """A JSON text that is equal for equal values."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except RecursionError:
        return '"nested too deeply"'


def shown(result: object) -> str:
    """The beginning of what a tool returned, for people: its text, otherwise its JSON."""
    texts = [result] if isinstance(result, str) else list(_texts_in(result))
    return ("\n".join(texts) or ("" if result is None else canonical(result)))[:MOST_SHOWN]


def _texts_in(value: object) -> Iterator[str]:
    """The texts in blocks, as Anthropic and the Agent Client Protocol nest them."""
    blocks = value if isinstance(value, list) else [value]
    for block in blocks:
        if not isinstance(block, dict):
            continue
        text, inner = block.get("text"), block.get("content")
        if isinstance(text, str):
            yield text
        elif isinstance(inner, dict) and isinstance(inner.get("text"), str):
            yield inner["text"]


def text_of(value: JsonObject, *names: str) -> str:
    """The text at that place, by its names from the outside in; empty if there is none."""
    found = find(value, *names)
    return found if isinstance(found, str) else ""


def count_of(value: JsonObject, *names: str) -> int:
    """The whole number at that place, at most MOST; 0 if there is none."""
    found = find(value, *names)
    if not isinstance(found, int) or isinstance(found, bool):
        return 0
    return min(max(found, 0), MOST)


def object_of(value: JsonObject, *names: str) -> JsonObject:
    """The object at that place; empty if there is none."""
    found = find(value, *names)
    return found if isinstance(found, dict) else {}


def objects_of(value: JsonObject, *names: str) -> list[JsonObject]:
    """The objects of the list at that place."""
    found = find(value, *names)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def amount_of(value: JsonObject, *names: str) -> Decimal | None:
    """The amount at that place, at most MOST; None if there is none."""
    found = find(value, *names)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        amount = Decimal(str(found))
    except InvalidOperation:
        return None
    return min(amount, Decimal(MOST)) if amount.is_finite() and amount >= 0 else None


def find(value: JsonObject, *names: str) -> Any:
    """What is at that place, None for nothing."""
    found: Any = value
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _cleaned(value: Any) -> Any:
    """The value without halves of surrogate pairs, which no database and no terminal takes."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {_cleaned(name): _cleaned(each) for name, each in value.items()}
    return value
