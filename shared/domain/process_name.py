"""How a process of replan that serves is called where the database lists its sessions."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from shared.domain.jobs import ROLES, QueueName

COORDINATOR: Final = "coordinator"
"""The role of the processes that decide; they serve no queue."""

ALL: Final = "all"
"""The one word for every role of workers."""

LONGEST: Final = 63
"""Bytes that Postgres keeps of the name of a session."""

_NAME = re.compile(r"replan (?P<version>\S+) (?P<roles>[a-z_-]+) (?P<pid>[0-9]+)@(?P<host>\S*)")


@dataclass(frozen=True, slots=True)
class ProcessName:
    """A process that serves: its roles (one is `all`, or a coordinator's), and where it runs.

    `version` is that of its replan, empty if it is unknown.
    """

    version: str
    roles: tuple[str, ...]
    pid: int
    host: str

    @property
    def queues(self) -> frozenset[QueueName]:
        """The queues that it serves."""
        every = ALL in self.roles
        return frozenset(queue for role, queue in ROLES.items() if every or role in self.roles)

    @property
    def session(self) -> str:
        """The name of its sessions: `replan 0.1.0 executor 4711@web-1`. Long hosts are cut."""
        words = ("replan", self.version, shorten_roles(self.roles), str(self.pid))
        before = f"{' '.join(words)}@"
        return f"{before}{self.host[: LONGEST - len(before)]}"[:LONGEST]

    @property
    def owner(self) -> str:
        """How it signs what it claims: `executor.4711@web-1`."""
        return f"{'-'.join(self.roles)}.{self}"

    def __str__(self) -> str:
        """Short, for people: `4711@web-1`."""
        return f"{self.pid}@{self.host}"


def parse_process_name(session: str) -> ProcessName | None:
    """What the name of a session says; None if it says nothing of a process that serves."""
    found = _NAME.fullmatch(session)
    roles = () if found is None else _long_roles(found["roles"])
    if found is None or not roles:
        return None
    return ProcessName(found["version"], roles, int(found["pid"]), found["host"])


def parse_owner(owner: str) -> ProcessName | None:
    """What the signature of a claim says; None if it says nothing of a process that serves."""
    roles, _, place = owner.partition(".")
    pid, _, host = place.partition("@")
    named = tuple(roles.split("-"))
    if not pid.isascii() or not pid.isdigit() or not set(named) <= {ALL, *ROLES}:
        return None
    return ProcessName("", named, int(pid), host)


def shorten_roles(roles: Collection[str]) -> str:
    """The roles as one word: `executor-escalation`, or `all-but-executor` where that is shorter."""
    missing = [role for role in ROLES if role not in roles]
    if ALL in roles or not missing:
        return ALL
    if len(missing) == 1:
        return f"{ALL}-but-{missing[0]}"
    return "-".join(roles)


def _long_roles(word: str) -> tuple[str, ...]:
    """The roles that are one word, in order; empty if one of them is unknown."""
    if word in {ALL, COORDINATOR}:
        return (word,)
    missing = word.removeprefix(f"{ALL}-but-")
    if missing != word:
        return tuple(role for role in ROLES if role != missing) if missing in ROLES else ()
    named = tuple(word.split("-"))
    return named if set(named) <= set(ROLES) else ()
