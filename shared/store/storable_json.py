"""JSON that Postgres takes, whatever hosts, agents and models have written into it.

Its texts hold no NUL, and JSON is no exception: one in a single text refuses the whole statement,
and so all rows that were to be written with it.
"""

import re
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def storable_json(value: Any) -> str:
    r"""The value as JSON; NUL becomes the escape `\x00`, halves of surrogate pairs `\ud800`.

    Raises PydanticSerializationError for what JSON has no form for.
    """
    try:
        written = to_json(value).decode()
    except PydanticSerializationError:
        written = to_json(_whole(value)).decode()
    return _NUL.sub(r"\1\\\\x00", written) if "\\u0000" in written else written


def _whole(value: Any) -> Any:
    """The value with only whole characters in its texts."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_whole(name): _whole(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(each) for each in value]
    return value
