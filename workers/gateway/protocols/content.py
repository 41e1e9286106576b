"""The text in the content of a request, whatever its protocol."""

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from workers.llm.calls import Speaker

Said = tuple[Speaker, str]
"""A speaker, and what it said in one message."""

_BINARY: Final = frozenset(
    {"data", "file_data", "image_url", "url", "encrypted_content", "signature"}
)
_LONG: Final = 400
"""Characters from which a value under such a name is binary, not an address."""

_STANDS_FOR: Final = 4800
"""Characters whose tokens are about those of a picture."""


def text_of(content: Any) -> str:
    """What a message says: its texts, and whatever else it holds as JSON without binary data."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    if isinstance(content, Mapping):
        if isinstance(text := content.get("text"), str):
            return text
        return json.dumps(_without_binary(content), ensure_ascii=False, sort_keys=True)
    return ""


def count_rounds(turns: Iterable[Said]) -> int:
    """How many times the model has spoken; what it says in a row counts once."""
    return sum(speaker is Speaker.ASSISTANT for speaker, _ in groupby(turns, lambda turn: turn[0]))


def new_turns(turns: list[Said]) -> list[Said]:
    """The turns after the last of the model: those that this request adds to the one before."""
    spoken = [place for place, (who, _) in enumerate(turns) if who is Speaker.ASSISTANT]
    return turns[spoken[-1] + 1 :] if spoken else turns


def count_characters(value: Any) -> int:
    """The length of all texts in a JSON value; a picture counts for as much as its tokens are."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(count_characters, value))
    if isinstance(value, Mapping):
        return sum(
            _STANDS_FOR if _is_binary(name, each) else len(name) + count_characters(each)
            for name, each in value.items()
        )
    return 0


def _without_binary(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_binary(each) for each in value]
    if isinstance(value, Mapping):
        return {
            name: f"({len(each)} characters)" if _is_binary(name, each) else _without_binary(each)
            for name, each in value.items()
        }
    return value


def _is_binary(name: str, value: Any) -> bool:
    return name in _BINARY and isinstance(value, str) and len(value) > _LONG
