"""The JSON in a model's answer; standard library only."""

import json
import re

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n?```", re.DOTALL)


class NotAnAnswer(ValueError):
    """The text contains no JSON object; the message tells the model what to change."""


def object_in(text: str) -> dict[str, object]:
    """The JSON object in an answer: the whole text, a fenced block, or one object within prose.

    Raises NotAnAnswer if there is none, or if there are several and none is the whole text.
    """
    for candidate in (text, *_FENCED.findall(text), _from_first_brace(text)):
        found = _load(candidate)
        if isinstance(found, dict):
            return found
    raise NotAnAnswer(_why_not(text))


def _from_first_brace(text: str) -> str:
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if start >= 0 else ""


def _load(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_no_such_number)
    except (ValueError, RecursionError):
        return None


def _no_such_number(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def _why_not(text: str) -> str:
    if not text.strip():
        return "The answer is empty; a JSON object was asked for."
    try:
        found = json.loads(text, parse_constant=_no_such_number)
    except RecursionError:
        return "The JSON is nested too deeply."
    except ValueError as error:
        return f"The answer is not a JSON object: {error}."
    return f"The answer is JSON, but a {type(found).__name__} and not an object."
