"""Judges the facts of a host: what prevents durable commands, and what the operator should know."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from shared.domain.containment import MISSING_WORDS, Missing
from shared.domain.host import ConnectionKind, Host
from shared.domain.next_step import Advice, ShellCommand
from shared.domain.preview import NO_PREVIEW_WORDS, NoPreview
from workers.shells.remote.environment import SUDOERS_LINE
from workers.shells.remote.errors import check_command
from workers.shells.remote.runner_text import JOB_ROOT

Facts = Mapping[str, str]

CLOCK_TOLERANCE = 60
"""Seconds that a host's clock may differ from ours before a notice says so."""

SESSIONS_NEEDED = 2
"""Sessions on one connection: one to run a command, one to look at it or end it."""

_NETWORK = ("nfs", "cifs", "smb", "fuse.sshfs", "fuse.glusterfs", "ceph", "fuse.ceph", "lustre")
_LAST_SYSTEM_UID = 999
_TRUE = frozenset({"yes", "true", "on", "1"})


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that prevents work (`blocking`) or that the operator should know, and its remedy.

    `family` is the family of the error ("transient", "misconfigured"), or "notice".
    """

    stage: str
    reason: str
    next_step: Advice | None
    family: str

    @property
    def blocking(self) -> bool:
        """True if it prevents every command on the host."""
        return self.family != "notice"


def notices(host: Host, facts: Facts) -> tuple[Problem, ...]:
    """What the operator should know about a working host, from its facts alone.

    A missing fact does not count against the host, except for `proc` and `setsid`, which every
    host reports.
    """
    return tuple(problem for rule in _RULES for problem in rule(host, facts))


def notice(stage: str, reason: str, next_step: Advice) -> Problem:
    """A problem that prevents no command."""
    return Problem(stage, reason, next_step, "notice")


def _sudo(_: Host, facts: Facts) -> Iterator[Problem]:
    if facts.get("sudo_drops"):
        yield notice(
            "sudo",
            "sudo drops the variables that keep package managers from prompting; add this line to "
            f"sudoers to keep them: {SUDOERS_LINE}",
            ShellCommand("sudo visudo -f /etc/sudoers.d/replan"),
        )


def _proc(host: Host, facts: Facts) -> Iterator[Problem]:
    if "proc" not in facts:
        yield notice(
            "execute",
            "/proc cannot be read: commands end with their worker instead of being found again, "
            "and when a command must end, processes that left its group are not found",
            check_command(host),
        )


def _setsid(host: Host, facts: Facts) -> Iterator[Problem]:
    if "setsid" not in facts:
        yield notice(
            "execute",
            "it has no setsid: a command that sends signals to its whole session also hits the "
            "shell that runs it, and its outcome is lost; install util-linux or busybox on it",
            _there(host, "command -v setsid"),
        )


def _records_in_memory(host: Host, facts: Facts) -> Iterator[Problem]:
    records = facts.get("records", "")
    if records.startswith("/dev/shm/"):  # noqa: S108 - where the runner says that they are
        yield notice(
            "execute",
            f"{JOB_ROOT} {_why_not(facts)}, so the records of commands are in {records}: in "
            f"memory, and lost after a restart; make {JOB_ROOT} writable for the account, with "
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
            "systemd removes an account's files from /dev/shm when its last connection closes "
            "(RemoveIPC=yes), including the records of commands: the outcome of what ran while a "
            f"connection was lost is unknown; {enable} keeps them",
            _there(host, f"sudo {enable}"),
        )


def _why_not(facts: Facts) -> str:
    if "home_refuses" in facts:
        return f"cannot be written ({facts['home_refuses']})"
    return "cannot be used (it is a link, or another account's)"


def _containment(host: Host, facts: Facts) -> Iterator[Problem]:
    missing = facts.get("containment_missing")
    if missing is not None:
        said = facts.get("containment_said", "")
        yield notice(
            "guard",
            f"looks do not run contained there: {MISSING_WORDS[Missing(missing)]}"
            f"{f' ({said})' if said else ''}; the rules of the policy alone decide which may run",
            _there(host, "unshare -U -m true"),
        )


def _previews(host: Host, facts: Facts) -> Iterator[Problem]:
    missing = facts.get("previews_missing")
    if missing is not None:
        yield notice(
            "guard",
            "nobody sees beforehand what a command would change there: "
            f"{NO_PREVIEW_WORDS[NoPreview(missing)]}; questions come without it, and no rule under "
            "effects: allows anything",
            _there(host, "unshare -U -m true"),
        )


def _records_size(host: Host, facts: Facts) -> Iterator[Problem]:
    size, cap = facts.get("records_kb", ""), facts.get("records_cap_kb", "")
    if size.isdecimal() and cap.isdecimal() and int(size) > int(cap):
        records = facts.get("records", JOB_ROOT)
        yield notice(
            "execute",
            f"the records of commands take up {_megabytes(size)} in {records}, and the cap is "
            f"{_megabytes(cap)} (host_records_cap): output goes within minutes of the next pass if "
            "it is recorded in the database and nothing writes to it, all the rest two days after "
            "its run",
            _there(host, f"du -ak {shlex.quote(records)} | sort -n | tail"),
        )


def _megabytes(kilobytes: str) -> str:
    return f"{int(kilobytes) * 1024 / 1_000_000:.0f} MB"


def _network(host: Host, facts: Facts) -> Iterator[Problem]:
    kind = facts.get("records_fs", "")
    if kind.startswith(_NETWORK):
        yield notice(
            "execute",
            f"the records of commands are on a network file system ({kind}, "
            f"{facts.get('records', JOB_ROOT)}): every command waits for its server, and other "
            "machines see them late; make ~/.replan a link to a folder on a local disk",
            _there(host, "df -h ~/.replan"),
        )


def _clock(host: Host, facts: Facts) -> Iterator[Problem]:
    off = int(facts.get("clock_off", "0"))
    if abs(off) > CLOCK_TOLERANCE:
        way = "ahead of" if off > 0 else "behind"
        yield notice(
            "execute",
            f"its clock is {_span(abs(off))} {way} ours: replan does not use it, but "
            "certificates, logs and package signatures do; set it by NTP "
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
            "it allows one session per connection (MaxSessions 1): every parallel command, and "
            "every look at a running one, needs its own login; set MaxSessions 10 in its "
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
            "systemd ends all processes of an account when its last connection closes "
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
    _records_size,
    _containment,
    _previews,
    _network,
    _clock,
    _sessions,
    _logout,
)


def _there(host: Host, command: str) -> ShellCommand:
    """The command to type here to run it on the host."""
    if host.connection is ConnectionKind.LOCAL:
        return ShellCommand(command)
    key = f"-i {shlex.quote(host.key_path)} " if host.key_path else ""
    return ShellCommand(
        f"ssh {key}-p {host.port} {host.user}@{host.address} {shlex.quote(command)}"
    )
