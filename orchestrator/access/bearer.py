"""The form of a token: `replan_ID_SECRET`. The id is public, the secret is 256 random bits.

Nobody can guess so many bits, so a fast hash is as safe as a slow one.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass, field

_SHAPE = re.compile(r"replan_(?P<id>[0-9a-f]{12})_(?P<secret>[A-Za-z0-9_-]{43})")
_ID_BYTES = 6
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token as its owner has it; `text` is the credential and never part of the repr."""

    id: str
    text: str = field(repr=False)

    @property
    def hash(self) -> bytes:
        """The hash that is stored."""
        return hashlib.sha256(self.text.encode()).digest()


def mint_bearer() -> Bearer:
    """Create a new token."""
    token_id = secrets.token_hex(_ID_BYTES)
    return Bearer(token_id, f"replan_{token_id}_{secrets.token_urlsafe(_SECRET_BYTES)}")


def parse_bearer(text: str) -> Bearer | None:
    """The token in a text; None when the text does not have the form of a token."""
    found = _SHAPE.fullmatch(text)
    return None if found is None else Bearer(found["id"], text)
