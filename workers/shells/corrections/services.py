"""Corrections of services: restart the service that the command or its check needs (S0.41)."""

import re
from collections.abc import Iterator

from workers.shells.corrections.command_line import PlacedCommand, read
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_UNIT = re.compile(r"[A-Za-z0-9][\w@:.-]*")
_VERBS = frozenset(
    [
        *("start", "restart", "reload", "try-restart", "reload-or-restart"),
        *("status", "is-active", "enable"),
    ]
)
_CLIENTS: dict[str, tuple[str, ...]] = {
    "docker": ("docker",),
    "psql": ("postgresql",),
    "pg_isready": ("postgresql",),
    "createdb": ("postgresql",),
    "createuser": ("postgresql",),
    "mysql": ("mysql", "mariadb"),
    "mysqladmin": ("mysql", "mariadb"),
    "mariadb": ("mariadb",),
    "redis-cli": ("redis-server", "redis"),
    "rabbitmqctl": ("rabbitmq-server",),
    "nginx": ("nginx",),
}
"""The services to which a client program connects."""
_RESTARTING = 90.0
"""Seconds that a service may take to start: systemd's own limit."""
_NO_ANSWER = re.compile(
    r"[Cc]onnection refused|Cannot connect to the Docker daemon|Can't connect to"
    r"|could not connect to server|Could not connect|No such file or directory\s+Is the server"
    r"|is not active, cannot reload|Job for \S+ failed|unable to connect to node"
    r"|no response|invalid PID number"
)
_STALE_UNIT = re.compile(r"changed on disk\. Run 'systemctl daemon-reload'|Unit \S+ not found")
_NEVER = re.compile(r"network|systemd-|NetworkManager|dbus|firewalld|init\b|ssh")
"""Services that the host needs to run or to be reachable: a rule never restarts them."""


def _services(failure: FailedCommand) -> Iterator[tuple[PlacedCommand, str]]:
    """The services that the command needs, then those that its check needs."""
    for simple in (*failure.commands, *(read(failure.check) if failure.check else ())):
        arguments = [word.text for word in simple.arguments if not word.text.startswith("-")]
        names: tuple[str, ...] = _CLIENTS.get(simple.name, ())
        if simple.name == "systemctl" and len(arguments) > 1 and arguments[0] in _VERBS:
            names = tuple(arguments[1:])
        elif simple.name == "service" and len(arguments) > 1 and arguments[1] in _VERBS:
            names = (arguments[0],)
        for name in names:
            if _UNIT.fullmatch(name) and not _NEVER.search(name):
                yield simple, name


def _service_is_silent(failure: FailedCommand) -> bool:
    if failure.check_is_red:
        return any(_services(failure))
    return bool(failure.exit_code and _NO_ANSWER.search(failure.output) and any(_services(failure)))


def _restart(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Restart a service that exists but does not run, then repeat."""
    for simple, name in _services(failure):
        if not probe.holds(f"systemctl cat {name}") or probe.holds(f"systemctl is-active {name}"):
            continue
        sudo = "sudo -n " if simple.wrapped_in("sudo") else ""
        first = (f"{sudo}systemctl reset-failed {name}", f"{sudo}systemctl restart {name}")
        return Proposal(failure.command, first=first, allowance=_RESTARTING)
    return None


def _unit_is_stale(failure: FailedCommand) -> bool:
    uses = any(simple.name in ("systemctl", "service") for simple in failure.commands)
    return bool(failure.exit_code and uses and _STALE_UNIT.search(failure.output))


def _reload(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Reload systemd's units if the unit has a file."""
    for simple, name in _services(failure):
        unit = name if "." in name else f"{name}.service"
        places = " ".join(f"{folder}/{unit}" for folder in _UNIT_FOLDERS)
        if probe.ask(f"ls -1d {places}").strip():
            sudo = "sudo -n " if simple.wrapped_in("sudo") else ""
            return Proposal(failure.command, first=(f"{sudo}systemctl daemon-reload",))
    return None


_UNIT_FOLDERS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")

RESTART = Correction(
    "restart_service", "restarted the service and repeated", _service_is_silent, _restart
)
DAEMON_RELOAD = Correction(
    "daemon_reload", "reloaded the units of systemd", _unit_is_stale, _reload
)
