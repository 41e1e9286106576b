"""The policy that a question about the guard is answered under."""

from dataclasses import dataclass
from pathlib import Path

from orchestrator.acts.caller import Caller
from shared.guard import Guard, load_site


@dataclass(frozen=True, slots=True)
class Under:
    """The policy to judge under: that of a `host`, from the file in the settings or another.

    `profiles` stand in for those that the policy chooses.
    """

    host: str | None = None
    policy: Path | None = None
    profiles: tuple[str, ...] = ()


def guard_under(caller: Caller, under: Under) -> Guard:
    """The guard with that policy. Raises Misconfigured."""
    settings = caller.settings
    site = load_site(under.policy or settings.server.guard_policy)
    return Guard(site.for_host(under.host, settings.agent.forbidden_commands, under.profiles))
