"""Masks what leaves for a provider."""

import json
from typing import Any

from shared.secrets.masking import Masker
from workers.gateway.protocols.protocol import Json


def mask_request(raw: bytes, body: Json, masker: Masker) -> tuple[bytes, Json]:
    """A request in which known secrets stand under their names; unchanged if it holds none."""
    if not masker.holds_value(raw.decode("utf-8", "replace")):
        return raw, body
    masked = _mask(body, masker)
    return json.dumps(masked, ensure_ascii=False).encode("utf-8", "surrogatepass"), masked


def _mask(value: Any, masker: Masker) -> Any:
    if isinstance(value, str):
        return masker.values(value)
    if isinstance(value, list):
        return [_mask(each, masker) for each in value]
    if isinstance(value, dict):
        return {masker.values(name): _mask(each, masker) for name, each in value.items()}
    return value
