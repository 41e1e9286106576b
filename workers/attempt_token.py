"""The token with which an agent asks the model gateway: derived, so nothing has to be written."""

import hmac
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

_FORM: Final = re.compile(r"rpat_(?P<key>[A-Za-z0-9.-]{1,200})_(?P<proof>[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class AttemptGrant:
    """What a token says: the key of an attempt."""

    attempt: str


def attempt_token(installation_key: bytes, attempt: str) -> str:
    """The token of an attempt; whoever drives the attempt on derives the same one."""
    return f"rpat_{attempt}_{_prove(installation_key, attempt)}"


def read_attempt_token(installation_key: bytes, token: str) -> AttemptGrant | None:
    """What a token says; None unless it was derived with this key."""
    found = _FORM.fullmatch(token)
    if found is None or not hmac.compare_digest(
        found["proof"], _prove(installation_key, found["key"])
    ):
        return None
    return AttemptGrant(found["key"])


def _prove(installation_key: bytes, attempt: str) -> str:
    said = f"token of an attempt, form 2\0{attempt}"
    return hmac.new(installation_key, said.encode(), sha256).hexdigest()
