"""What a host's kernel forbids to looks and agents, and why a host has no such containment."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class ContainmentRule(StrEnum):
    """Whether something has to run contained, as a policy says it."""

    OFF = "off"
    POSSIBLE = "possible"  # where the host can
    REQUIRED = "required"  # nothing runs on a host that cannot


class Missing(StrEnum):
    """Why something does not run contained on a host."""

    OFF = "off"  # the policy says so
    PROGRAM = "program"  # a program that makes it; `said` names it
    RECORDS = "records"  # there is no place for the pipes between a runner and it
    NAMESPACES = "namespaces"  # the kernel, or what guards it, refuses namespaces to the account
    IDS = "ids"  # the account may not map its ids into them
    PROPAGATION = "propagation"  # mounts cannot be kept apart
    TMPFS = "tmpfs"  # nothing may be mounted
    DEVICES = "devices"  # a private /dev cannot be made
    SECRETS = "secrets"  # there are too many files with secrets to hide, or one cannot be hidden
    PROC = "proc"  # /proc cannot be shown again
    READONLY = "readonly"  # a file system cannot be made read-only; `said` names it
    SLOW = "slow"  # it took too long
    GONE = "gone"  # it ended as soon as it was made
    WORKSPACE = "workspace"  # what an agent works with cannot be shown
    RELAY = "relay"  # no program there carries to the gateway what has no other network


MISSING_WORDS: Final = {
    Missing.OFF: "the policy switches it off",
    Missing.PROGRAM: "a program that makes namespaces is missing; install util-linux",
    Missing.RECORDS: "it has no place for records",
    Missing.NAMESPACES: "the kernel, or what guards it, refuses namespaces to the account",
    Missing.IDS: "the account may not map its ids into a namespace",
    Missing.PROPAGATION: "mounts cannot be kept apart",
    Missing.TMPFS: "nothing may be mounted in a namespace",
    Missing.DEVICES: "a private /dev cannot be made",
    Missing.SECRETS: "there are too many secrets to hide, or one cannot be hidden",
    Missing.PROC: "/proc cannot be shown in a namespace",
    Missing.READONLY: "a file system cannot be made read-only",
    Missing.SLOW: "it took longer than ten seconds",
    Missing.GONE: "it ended at once",
    Missing.WORKSPACE: "its workspace cannot be shown there",
    Missing.RELAY: "nothing there carries to the gateway what has no other network: it takes "
    "python3 or perl, and a gateway_url with http",
}
"""Why something does not run contained on a host, in words."""


@dataclass(frozen=True, slots=True)
class Containment:
    """Whether looks run contained on a host.

    Contained, every file system is read-only, there is neither network nor socket, and no process
    outside can be signalled or read. With `owners`, looks see the owners of files; without, all
    owners but the account show as `nobody`. `said` is what the host said if it has none.
    """

    missing: Missing | None = None
    owners: bool = True
    said: str = ""

    @property
    def is_there(self) -> bool:
        """Whether looks run contained."""
        return self.missing is None


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a contained look cannot read.

    `places` are patterns of a shell for whole paths. `names` and `public` are extended regular
    expressions for the paths of files in the usual places: those that are hidden, and those of
    them that are not.
    """

    places: tuple[str, ...] = ()
    names: str = ""
    public: str = ""


UNCONTAINED = Containment(Missing.OFF)
"""No look runs contained."""


class Networks(StrEnum):
    """What a contained agent reaches."""

    ALL = "all"  # all that its account reaches on the host
    GATEWAY = "gateway"  # the gateway to models alone


@dataclass(frozen=True, slots=True)
class AgentRule:
    """How agents have to run, as a policy says it."""

    containment: ContainmentRule = ContainmentRule.POSSIBLE
    networks: Networks = Networks.ALL


@dataclass(frozen=True, slots=True)
class AgentContainment:
    """How agents run on a host under a policy.

    `networks` is what they reach, None if they do not run contained. `missing` is why the host
    cannot do all that the policy wants, and `said` what it said.
    """

    networks: Networks | None = None
    missing: Missing | None = None
    said: str = ""
