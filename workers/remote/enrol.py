"""What is asked of a host before work is given to it: its key, and whether all parts work."""

import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from shared.domain.errors import ReplanError
from shared.domain.host import Connection, Host
from workers.ports import Shell
from workers.remote.connections import HostConnections
from workers.remote.environment import KEPT_BY_SUDO, SUDOERS_LINE
from workers.remote.hostkeys import HostKey, pinned_key
from workers.remote.sentences import check_command

_FACTS = """\
[ -r /etc/os-release ] && . /etc/os-release
echo "os=${PRETTY_NAME:-$(uname -s)}"
echo "kernel=$(uname -r)"
echo "arch=$(uname -m)"
echo "hostname=$(uname -n)"
echo "user=$(id -un)"
echo "uid=$(id -u)"
echo "home=$HOME"
echo "login_shell=$SHELL"
echo "workdir=$(pwd)"
echo "cpus=$(getconf _NPROCESSORS_ONLN)"
command -v systemctl >/dev/null && [ -d /run/systemd/system ] && echo systemd=yes
[ -r /proc/self/stat ] && echo proc=yes
if [ "$(id -u)" = 0 ]; then echo sudo=root
elif ! command -v sudo >/dev/null; then echo sudo=absent
elif allowed=$(sudo -n -l 2>/dev/null); then
  echo sudo=yes
  for name in KEPT; do
    case $allowed in *"$name"*) ;; *) echo sudo_drops=yes; break ;; esac
  done
else echo sudo=no
fi
exit 0
"""
_FACTS_TIMEOUT = 20.0
_ROUND_TRIPS = 5
_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that stands in the way (`blocking`) or should be known, and what to do about it.

    `family` is that of the error ("transient", "misconfigured"), or "notice".
    """

    stage: str
    reason: str
    next_step_cmd: str | None
    family: str

    @property
    def blocking(self) -> bool:
        """True when no command can run on the host because of it."""
        return self.family != "notice"


@dataclass(frozen=True, slots=True)
class HostReport:
    """What a check found. `round_trip_ms` is the time of an empty command, in milliseconds."""

    host: str
    reachable: bool
    authenticated: bool
    runs_commands: bool
    facts: Mapping[str, str] = field(default_factory=dict)
    round_trip_ms: float | None = None
    host_key: str | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """True when commands can run on the host."""
        return self.runs_commands and not any(problem.blocking for problem in self.problems)


def fetch_host_key(address: str, port: int = 22, *, timeout: float = 10.0) -> HostKey:
    """The key that the host offers, for a person to compare; nobody logs in.

    It is the one the connection would use later: ed25519 where the host has it. Raises Transient
    (unreachable) or Misconfigured (no such name).
    """
    from workers.remote.transport import Timing, host_key_of, negotiate

    host = Host(name=address, address=address, port=port)
    timing = Timing(connect=timeout, banner=timeout, handshake=timeout)
    with closing(negotiate(host, None, timing)) as transport:
        return host_key_of(transport)


def check_host(host: Host) -> HostReport:
    """Reach the host, log in, run a command, and gather facts; never raises for what it finds."""
    with closing(HostConnections()) as connections:
        try:
            shell = connections.shell(host)
        except ReplanError as error:
            return _unusable(host, error)
        return _checked_shell(host, shell)


def _unusable(host: Host, error: ReplanError) -> HostReport:
    return HostReport(
        host=host.name,
        reachable=error.stage != "connect",
        authenticated=error.stage not in ("connect", "host_key", "authenticate"),
        runs_commands=False,
        problems=(_problem(error),),
    )


def _checked_shell(host: Host, shell: Shell) -> HostReport:
    try:
        facts = _facts(shell)
        round_trip = _round_trip(shell)
    except ReplanError as error:
        return HostReport(
            host=host.name,
            reachable=True,
            authenticated=True,
            runs_commands=False,
            host_key=_fingerprint(host),
            problems=(_problem(error),),
        )
    return HostReport(
        host=host.name,
        reachable=True,
        authenticated=True,
        runs_commands=True,
        facts={name: value for name, value in facts.items() if name != "sudo_drops"},
        round_trip_ms=round(round_trip * 1000, 2),
        host_key=_fingerprint(host),
        problems=tuple(_notices(host, facts)),
    )


def _facts(shell: Shell) -> dict[str, str]:
    script = _FACTS.replace("KEPT", " ".join(KEPT_BY_SUDO))
    result = shell.run(script, timeout=_FACTS_TIMEOUT)
    lines = result.stdout.decode("utf-8", "replace").splitlines()
    return {name: value for name, mark, value in (line.partition("=") for line in lines) if mark}


def _round_trip(shell: Shell) -> float:
    spans = []
    for _ in range(_ROUND_TRIPS):
        began = time.perf_counter()
        shell.run("true", timeout=_FACTS_TIMEOUT)
        spans.append(time.perf_counter() - began)
    return median(spans)


def _notices(host: Host, facts: Mapping[str, str]) -> Iterable[Problem]:
    if facts.get("sudo_drops"):
        yield Problem(
            stage="sudo",
            reason=(
                "sudo drops the variables that keep package managers from asking; with this line "
                f"in sudoers it keeps them: {SUDOERS_LINE}"
            ),
            next_step_cmd="sudo visudo -f /etc/sudoers.d/replan",
            family="notice",
        )
    if host.key_path and Path(host.key_path).expanduser().stat().st_mode & _OTHERS:
        yield Problem(
            stage="authenticate",
            reason=f"the key file {host.key_path} can be read by other users of this machine",
            next_step_cmd=f"chmod 600 {host.key_path}",
            family="notice",
        )
    if "proc" not in facts:
        yield Problem(
            stage="execute",
            reason=(
                "/proc cannot be read: a command that must end is ended by its process group, and "
                "processes that left the group are not found"
            ),
            next_step_cmd=check_command(host),
            family="notice",
        )


def _fingerprint(host: Host) -> str | None:
    if host.connection is Connection.LOCAL or not host.host_key:
        return None
    return str(pinned_key(host))


def _problem(error: ReplanError) -> Problem:
    return Problem(error.stage, error.reason, error.next_step_cmd, error.family)
