"""What workspaces may take up; apart from targets, since every command line reads it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkspaceLimits:
    """What the workspaces of a repository may take up on its host.

    Beyond `cap` bytes, old workspaces are removed, but none that was used in the last `idle`
    seconds: its step may go on. A file of more than `largest` bytes is left out of every tree and
    named; None for no limit.
    """

    cap: int = 20_000_000_000
    idle: float = 86_400.0
    largest: int | None = 50_000_000
