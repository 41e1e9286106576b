"""Facts to JSON and back, with their kinds."""

from typing import Any

from shared.domain.errors import Defect
from shared.domain.facts import FACTS, Fact
from shared.wire import from_json, to_json


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
