"""Which rules a guard holds commands against, as one name that changes when any of them does."""

import hashlib
import json
from functools import lru_cache

from shared.guard.defaults import default_entries
from shared.guard.guard import Guard


def version_of(guard: Guard, forbidden: tuple[str, ...] = ()) -> str:
    """The version of a guard's rules; `forbidden` are the operator's, beside those that ship."""
    known = getattr(guard, "version", None)
    return known if isinstance(known, str) else _of_entries(forbidden)


@lru_cache(64)
def _of_entries(forbidden: tuple[str, ...]) -> str:
    entries = json.dumps([*default_entries(), *forbidden])
    return f"entries-{hashlib.sha256(entries.encode()).hexdigest()[:16]}"
