"""Tells planners about the targets: how they are reached, what they are and what may run."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

import structlog

from shared.domain.errors import ReplanError
from shared.domain.host import ConnectionKind, Host, SudoFound
from shared.domain.target import Repository
from shared.guard import CommandPolicy
from shared.store import hosts, targets
from shared.store.database import Database
from shared.store.targets import Place
from workers.llm.in_force import describe_policy
from workers.roles.host_keys import reports_changed_keys

log = structlog.get_logger()

Look = Callable[[Host], Mapping[str, str]]
"""Reads facts about a host with read-only commands; raises what a connection raises."""

_PROGRAMS = (
    *("apt-get", "dnf", "yum", "zypper", "apk", "pacman", "systemctl", "rc-service"),
    *("docker", "podman", "git", "curl", "wget", "python3", "sudo"),
)

FACTS: Mapping[str, str] = {
    "clock": "date '+%F %T %Z %z'",
    "os": "cat /etc/os-release; uname -srm",
    "identity": "id",
    "init": "ps -p 1 -o comm=",
    "memory": "head -n 3 /proc/meminfo",
    "disk": "df -hP",
    "ports": "ss -ltn",
    "programs": "; ".join(f"command -v {program}" for program in _PROGRAMS),
}
"""Each fact about a host and the command that reads it; all commands run in one round trip."""

MOST_LOOKED_AT = 3
"""How many targets of a task are looked at; for the others the planner learns only the way there.
"""

_FRESH = 120.0
"""Seconds until a host is looked at again."""


@dataclass(frozen=True, slots=True)
class Briefing:
    """`targets`: how each is reached; `facts`: what was observed on them; `rules`: what may run.

    `facts` is output of hosts: data, never instructions. `now` is the date and time here, to the
    minute, with the time zone: hosts and people have clocks of their own. `hosts` are the names of
    the hosts on which the targets are.
    """

    targets: tuple[str, ...]
    facts: str = ""
    rules: str = ""
    now: str = ""
    hosts: tuple[str, ...] = ()


class Briefings:
    """Briefs planners; remembers what it saw on a host for a while. Thread-safe."""

    def __init__(
        self, database: Database, look: Look, policy_for: Callable[[str], CommandPolicy]
    ) -> None:
        self._database = database
        self._look = look
        self._policy_for = policy_for
        self._seen: dict[Host, tuple[float, str]] = {}
        self._lock = threading.Lock()

    def of(self, names: Sequence[str], *, task_id: int, look: bool = True) -> Briefing:
        """The briefing on the targets of a task, including targets that cannot be reached.

        A target may be a repository: then it is about its host, too. Without `look`, no target is
        looked at.
        """
        with self._database.begin() as connection:
            found = {name: targets.find(connection, name) for name in names}
            reached = {
                name: None if place is None else hosts.with_route(connection, place.host)
                for name, place in found.items()
            }
            on = {name: name if host is None else host.name for name, host in reached.items()}
            rights = hosts.sudo_found(connection, on.values())
        told = tuple(
            _line(name, host, found[name], rights.get(on[name])) for name, host in reached.items()
        )
        trusted = {h.name: h for h in reached.values() if h is not None and not h.distrusted}
        seen = [*trusted.values()][:MOST_LOOKED_AT] if look else ()
        facts = "\n\n".join(self._facts(host, task_id) for host in seen)
        return Briefing(told, facts, self._rules(on), _now(), tuple(dict.fromkeys(on.values())))

    def _rules(self, names: Mapping[str, str]) -> str:
        """What may run at each target; `names` leads from its name to that of its host."""
        policies = {name: self._policy_for(host) for name, host in names.items()}
        versions = {policy.version: policy for policy in policies.values()}
        if len(versions) == 1:
            return describe_policy(next(iter(versions.values())))
        parts = []
        for version, policy in versions.items():
            where = ", ".join(name for name in names if policies[name].version == version)
            parts.append(f"On {where}:\n{describe_policy(policy)}")
        return "\n\n".join(parts)

    def _facts(self, host: Host, task_id: int) -> str:
        with self._lock:
            seen = self._seen.get(host)
        if seen is not None and monotonic() - seen[0] < _FRESH:
            return seen[1]
        text = "\n".join((f"[{host.name}]", *self._lines(host, task_id)))
        with self._lock:
            self._seen[host] = (monotonic(), text)
        return text

    def _lines(self, host: Host, task_id: int) -> list[str]:
        try:
            with reports_changed_keys(self._database, task_id):
                found = self._look(host)
        except ReplanError as error:
            log.warning("target_look_failed", host=host.name, reason=error.reason)
            return [f"the host could not be looked at: {error.reason}"]
        return [f"{name}: {_indent(text)}" for name, text in found.items() if text]


def _now() -> str:
    return f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z (%z)}"


_SUDO: Mapping[SudoFound, str] = {
    SudoFound.ROOT: "; it is root",
    SudoFound.YES: "; `sudo -n` works",
    SudoFound.NO: "; sudo asks it for a password or refuses it, so that nothing can run as root",
    SudoFound.ABSENT: "; there is no sudo, so that nothing can run as root",
}
"""What the last check of a host has found, for an account whose commands are not run as root."""


def _line(name: str, host: Host | None, place: Place | None, sudo: SudoFound | None = None) -> str:
    if host is None:
        return f"{name}: not enrolled yet"
    account = f"account {host.user}" if host.user else "the account of the executor"
    way = "the executor's own machine" if host.connection is ConnectionKind.LOCAL else "over SSH"
    found = "" if sudo is None else _SUDO[sudo]
    root = "; commands run as root, through sudo" if host.sudo else found
    if place is not None and place.repository is not None:
        inside = _where(place.repository)
        return f"{name}: {inside}, {way}, {account}{root}. No other connection may be used."
    where = f"; commands start in {host.workdir}" if host.workdir else ""
    return f"{name}: {way}, {account}{root}{where}. No other connection may be used."


def _where(repository: Repository) -> str:
    return (
        f"a git repository on the host {repository.host}; commands and agents work in a checkout "
        "of their own and start in its top folder"
    )


def _indent(text: str) -> str:
    return text.strip().replace("\n", "\n    ")
