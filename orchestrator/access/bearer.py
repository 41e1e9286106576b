"""What a token looks like: `replan_ID_SECRET`. The id is public, the secret is 256 random bits.

Nobody can guess so many bits, so that a fast hash keeps them as safe as a slow one would.
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
    """A token in the hands of its owner; `text` is what opens, and is never shown by accident."""

    id: str
    text: str = field(repr=False)

    @property
    def hash(self) -> bytes:
        """What is kept of it."""
        return hashlib.sha256(self.text.encode()).digest()


def mint_bearer() -> Bearer:
    """A new one."""
    token_id = secrets.token_hex(_ID_BYTES)
    return Bearer(token_id, f"replan_{token_id}_{secrets.token_urlsafe(_SECRET_BYTES)}")


def parse_bearer(text: str) -> Bearer | None:
    """The token in a text; None when it has not the shape of one."""
    found = _SHAPE.fullmatch(text)
    return None if found is None else Bearer(found["id"], text)
