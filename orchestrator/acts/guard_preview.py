"""What a person may ask about the effects of a command."""

from dataclasses import dataclass

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act
from orchestrator.probes import previews as probes
from shared.domain.preview import Preview
from shared.store import hosts


@dataclass(frozen=True, slots=True)
class CommandPreview:
    """What a command would change on a host."""

    host: str
    preview: Preview


@act("guard.preview")
def preview(caller: Caller, command: str, host_name: str) -> CommandPreview:
    """Find out what a command would change on a host; nothing of it stays there.

    Raises Rejected for a forbidden command and an unknown host, and what a connection raises.
    """
    with caller.database.begin() as connection:
        host = hosts.get(connection, host_name)
        hosts.require_trusted(host)
        host = hosts.with_route(connection, host)
    found = probes.preview(host, command, caller.settings.agent.forbidden_commands)
    with caller.database.begin() as connection:
        audit.record(connection, caller.actor, Act("guard.preview", host_name, {}))
    return CommandPreview(host_name, found)
