"""The token with which an agent asks the model gateway: derived, so nothing has to be written."""

import hmac
import re
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Final

_FORM: Final = re.compile(
    r"rpat_(?P<key>[A-Za-z0-9.-]{1,200})_(?P<budget>[0-9]{1,15})_(?P<proof>[0-9a-f]{64})"
)
_MILLIONTHS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class AttemptGrant:
    """What a token says: the key of an attempt, and its budget in dollars; 0: no cap."""

    attempt: str
    budget: Decimal = Decimal(0)


def attempt_token(installation_key: bytes, attempt: str, budget: Decimal = Decimal(0)) -> str:
    """The token of an attempt; whoever drives the attempt on derives the same one.

    `budget` is what its models may cost, in dollars, to a millionth; 0 means no cap of its own.
    """
    millionths = int(budget * _MILLIONTHS)
    return f"rpat_{attempt}_{millionths}_{_prove(installation_key, attempt, millionths)}"


def read_attempt_token(installation_key: bytes, token: str) -> AttemptGrant | None:
    """What a token says; None unless it was derived with this key."""
    found = _FORM.fullmatch(token)
    if found is None:
        return None
    attempt, millionths = found["key"], int(found["budget"])
    if not hmac.compare_digest(found["proof"], _prove(installation_key, attempt, millionths)):
        return None
    return AttemptGrant(attempt, Decimal(millionths) / _MILLIONTHS)


def _prove(installation_key: bytes, attempt: str, millionths: int) -> str:
    said = f"token of an attempt, form 1\0{attempt}\0{millionths}"
    return hmac.new(installation_key, said.encode(), sha256).hexdigest()
