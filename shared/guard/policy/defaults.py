"""What is forbidden everywhere, unless the operator changes it."""

from shared.guard.policy.policy import shipped_forbidden


def default_entries() -> tuple[str, ...]:
    """The entries alone, as `forbidden_commands` takes them."""
    return tuple(forbidden.entry for forbidden in shipped_forbidden())
