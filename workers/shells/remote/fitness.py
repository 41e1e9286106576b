"""Judges the facts of a host: what stands in the way of durable commands, or should be known."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from shared.domain.host import ConnectionKind, Host
from shared.domain.next_step import Advice, ShellCommand
from workers.shells.remote.environment import SUDOERS_LINE
from workers.shells.remote.errors import check_command
from workers.shells.remote.runner_text import JOB_ROOT

Facts = Mapping[str, str]

CLOCK_TOLERANCE = 60
"""Seconds that a host's clock may differ from ours before it is worth a word."""

SESSIONS_NEEDED = 2
"""Sessions on one connection: one for a command, one to look at it or to end it."""

_NETWORK = ("nfs", "cifs", "smb", "fuse.sshfs", "fuse.glusterfs", "ceph", "fuse.ceph", "lustre")
_LAST_SYSTEM_UID = 999
_TRUE = frozenset({"yes", "true", "on", "1"})


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that stands in the way (`blocking`) or should be known, and what to do about it.

    `family` is that of the error ("transient", "misconfigured"), or "notice".
    """

    stage: str
    reason: str
    next_step: Advice | None
    family: str

    @property
    def blocking(self) -> bool:
        """True when no command can run on the host because of it."""
        return self.family != "notice"


def notices(host: Host, facts: Facts) -> tuple[Problem, ...]:
    """What should be known of a host on which commands run, from its facts alone.

    A fact that is not known is not held against the host, but for those that every host tells:
    `proc` and `setsid`.
    """
    return tuple(problem for rule in _RULES for problem in rule(host, facts))


def notice(stage: str, reason: str, next_step: Advice) -> Problem:
    """Something to know that stops no command."""
    return Problem(stage, reason, next_step, "notice")


def _sudo(_: Host, facts: Facts) -> Iterator[Problem]:
    if facts.get("sudo_drops"):
        yield notice(
            "sudo",
            "sudo drops the variables that keep package managers from asking; with this line "
            f"in sudoers it keeps them: {SUDOERS_LINE}",
            ShellCommand("sudo visudo -f /etc/sudoers.d/replan"),
        )


def _proc(host: Host, facts: Facts) -> Iterator[Problem]:
    if "proc" not in facts:
        yield notice(
            "execute",
            "/proc cannot be read: commands end with their worker instead of being found again, "
            "and of a command that must end, processes that left its group are not found",
            check_command(host),
        )


def _setsid(host: Host, facts: Facts) -> Iterator[Problem]:
    if "setsid" not in facts:
        yield notice(
            "execute",
            "it has no setsid: a command that sends signals to its whole session also hits the "
            "shell that runs it, and its outcome is lost; install util-linux or busybox there",
            _there(host, "command -v setsid"),
        )


def _records_in_memory(host: Host, facts: Facts) -> Iterator[Problem]:
    records = facts.get("records", "")
    if records.startswith("/dev/shm/"):  # noqa: S108 - where the runner says that they are
        yield notice(
            "execute",
            f"{JOB_ROOT} {_why_not(facts)}, so the records of commands lie in {records}: in "
            f"memory, and gone after a restart; make {JOB_ROOT} writable for the account, with "
            "a few megabytes free",
            _there(host, "ls -ld ~ ~/.replan ~/.replan/jobs; df -h ~"),
        )


def _memory_records(host: Host, facts: Facts) -> Iterator[Problem]:
    uid = facts.get("uid", "")
    person = uid.isdecimal() and int(uid) > _LAST_SYSTEM_UID
    in_memory = facts.get("records", "").startswith("/dev/shm/")  # noqa: S108 - as above
    wiped = facts.get("logout_empties_shm") in _TRUE and "login_scope" in facts
    if person and in_memory and wiped and "linger" not in facts:
        enable = f"loginctl enable-linger {facts.get('user', '')}"
        yield notice(
            "execute",
            "systemd empties /dev/shm of what belongs to an account when its last connection "
            "closes (RemoveIPC=yes), the records of commands among it: what ran while a "
            f"connection was lost cannot be told; {enable} keeps them",
            _there(host, f"sudo {enable}"),
        )


def _why_not(facts: Facts) -> str:
    if "home_refuses" in facts:
        return f"cannot be written ({facts['home_refuses']})"
    return "cannot be used (it is a link, or another account's)"


def _network(host: Host, facts: Facts) -> Iterator[Problem]:
    kind = facts.get("records_fs", "")
    if kind.startswith(_NETWORK):
        yield notice(
            "execute",
            f"the records of commands lie on a network file system ({kind}, "
            f"{facts.get('records', JOB_ROOT)}): every command waits for its server, and other "
            "machines see them late; make ~/.replan a link to a folder on a disk of the host",
            _there(host, "df -h ~/.replan"),
        )


def _clock(host: Host, facts: Facts) -> Iterator[Problem]:
    off = int(facts.get("clock_off", "0"))
    if abs(off) > CLOCK_TOLERANCE:
        way = "ahead of" if off > 0 else "behind"
        yield notice(
            "execute",
            f"its clock is {_span(abs(off))} {way} ours: replan does not use it, but "
            "certificates, logs and package signatures do; let it be set by NTP "
            "(timedatectl set-ntp true)",
            _there(host, "date -u"),
        )


def _span(seconds: int) -> str:
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds} seconds"


def _sessions(host: Host, facts: Facts) -> Iterator[Problem]:
    sessions = facts.get("sessions", "")
    if sessions.isdecimal() and int(sessions) < SESSIONS_NEEDED:
        yield notice(
            "channel",
            "it allows one session on a connection (MaxSessions 1): every command at the same "
            "time, and every look at one, takes a login of its own; set MaxSessions 10 in its "
            "sshd_config",
            _there(host, "sudo sshd -T | grep -i maxsessions"),
        )


def _logout(host: Host, facts: Facts) -> Iterator[Problem]:
    user = facts.get("user", "")
    only, spared = facts.get("logout_kills_only", "").split(), facts.get("logout_spares", "root")
    hit = facts.get("logout_kills") in _TRUE and user not in spared.split()
    if hit and "login_scope" in facts and (not only or user in only):
        yield notice(
            "execute",
            "systemd ends what an account has started when its last connection closes "
            "(KillUserProcesses=yes): a command does not outlive a lost connection; name the "
            f"account in /etc/systemd/logind.conf, KillExcludeUsers={spared} {user}, "
            "and restart systemd-logind",
            _there(host, "loginctl show-user -p KillUserProcesses -p KillExcludeUsers"),
        )


_RULES: tuple[Callable[[Host, Facts], Iterator[Problem]], ...] = (
    _sudo,
    _proc,
    _setsid,
    _records_in_memory,
    _memory_records,
    _network,
    _clock,
    _sessions,
    _logout,
)


def _there(host: Host, command: str) -> ShellCommand:
    """What to type here so that it runs on the host."""
    if host.connection is ConnectionKind.LOCAL:
        return ShellCommand(command)
    key = f"-i {shlex.quote(host.key_path)} " if host.key_path else ""
    return ShellCommand(
        f"ssh {key}-p {host.port} {host.user}@{host.address} {shlex.quote(command)}"
    )
