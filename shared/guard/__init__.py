"""The guard decides which commands may run: `Guard(forbidden).judge(command)`."""

from shared.guard.defaults import DEFAULT_FORBIDDEN, Forbidden, default_entries
from shared.guard.guard import Guard
from shared.guard.version import version_of

__all__ = ["DEFAULT_FORBIDDEN", "Forbidden", "Guard", "default_entries", "version_of"]
