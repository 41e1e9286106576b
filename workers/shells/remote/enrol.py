"""Checks a host before it gets work: its key, and whether all parts work."""

import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from shared.domain.containment import Hidden
from shared.domain.errors import ReplanError
from shared.domain.host import ConnectionKind, Host
from shared.domain.next_step import ShellCommand
from shared.domain.records import RecordedPass
from shared.secrets.masking import Masker
from workers.shells.ports import Call, Shell
from workers.shells.preview import Reading, Wanted, preview
from workers.shells.remote.connections import HostConnections
from workers.shells.remote.facts import FACTS_TIMEOUT, gather
from workers.shells.remote.fitness import SESSIONS_NEEDED, Problem, notice, notices
from workers.shells.remote.host_secrets import Reveal, no_vault
from workers.shells.remote.hostkeys import HostKey, pinned_key
from workers.shells.remote.recorded_passes import recorded_passes
from workers.shells.remote.runner_text import RECORDS_CAP

_ROUND_TRIPS = 5
_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class HostReport:
    """The result of a check. `round_trip_ms` is the time of an empty command, in milliseconds.

    `passes` are those under which the host has started commands.
    """

    host: str
    reachable: bool
    authenticated: bool
    runs_commands: bool
    facts: Mapping[str, str] = field(default_factory=dict)
    round_trip_ms: float | None = None
    host_key: str | None = None
    problems: tuple[Problem, ...] = ()
    passes: tuple[RecordedPass, ...] = ()

    @property
    def ok(self) -> bool:
        """True when commands can run on the host."""
        return self.runs_commands and not any(problem.blocking for problem in self.problems)


def fetch_host_key(
    address: str,
    port: int = 22,
    *,
    name: str | None = None,
    timeout: float = 10.0,
    via: Host | None = None,
    reveal: Reveal = no_vault,
) -> HostKey:
    """The key that the host offers, for a person to compare, without a login.

    Errors call it by its `name`, else by its address. `via` is the jump host, whose key is known;
    `reveal` returns the secrets that its entry names.

    A later connection uses the same key: ed25519 if the host has one. Raises Transient
    (unreachable) or Misconfigured (no such name).
    """
    from workers.shells.remote.transport import Timing, host_key_of, negotiate

    jump = None if via is None else via.name
    host = Host(name=name or address, address=address, port=port, via=via, jump=jump)
    timing = Timing(connect=timeout, banner=timeout, handshake=timeout)
    with closing(negotiate(host, None, timing, reveal=reveal)) as transport:
        return host_key_of(transport)


def check_host(
    host: Host, reveal: Reveal = no_vault, *, records_cap: int = RECORDS_CAP
) -> HostReport:
    """Reach the host, log in, run a command, and gather facts; never raises for what it finds.

    `reveal` returns the secrets that the host's entry names; `records_cap` is in bytes.
    """
    with closing(HostConnections(reveal, records_cap=records_cap)) as connections:
        try:
            shell = connections.shell(host)
        except ReplanError as error:
            return _unusable(host, error)
        return look_at(host, shell, records_cap=records_cap)


def _unusable(host: Host, error: ReplanError) -> HostReport:
    return HostReport(
        host=host.name,
        reachable=error.stage != "connect",
        authenticated=error.stage not in ("connect", "host_key", "authenticate"),
        runs_commands=False,
        problems=(_problem(error),),
    )


def look_at(host: Host, shell: Shell, *, records_cap: int = RECORDS_CAP) -> HostReport:
    """The report on a host with an open shell; never raises for what it finds."""
    try:
        facts, passes = gather(shell), recorded_passes(shell)
        facts |= _containment(shell) | _previews(shell)
        round_trip = _round_trip(shell)
        facts |= _sessions(host)
        facts["records_cap_kb"] = str(records_cap // 1024)
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
        problems=(*notices(host, facts), *_key_file(host)),
        passes=passes,
    )


def _containment(shell: Shell) -> dict[str, str]:
    found = shell.containment(Hidden())
    if found.missing is None:
        return {"containment": "full" if found.owners else "without the owners of files"}
    return {"containment": "none", "containment_missing": found.missing} | (
        {"containment_said": found.said} if found.said else {}
    )


def _previews(shell: Shell) -> dict[str, str]:
    """Whether commands can be previewed: nothing of `true` would change anything."""
    found = preview(shell, Wanted("true"), lambda _: Reading(("true",), contents=False), Masker())
    if found.none is None:
        return {"previews": "yes"}
    return {"previews": "none", "previews_missing": found.none}


def _round_trip(shell: Shell) -> float:
    spans = []
    for _ in range(_ROUND_TRIPS):
        began = time.perf_counter()
        shell.run(Call("true", FACTS_TIMEOUT))
        spans.append(time.perf_counter() - began)
    return median(spans)


def _sessions(host: Host) -> dict[str, str]:
    if host.connection is ConnectionKind.LOCAL:
        return {}
    from workers.shells.remote.sessions import count_sessions

    # The host is usable even if one more login fails.
    with suppress(ReplanError):
        return {"sessions": str(count_sessions(host, SESSIONS_NEEDED))}
    return {}


def _key_file(host: Host) -> tuple[Problem, ...]:
    if host.key_path and Path(host.key_path).expanduser().stat().st_mode & _OTHERS:
        reason = f"other users of this machine can read the key file {host.key_path}"
        return (notice("authenticate", reason, ShellCommand(f"chmod 600 {host.key_path}")),)
    return ()


def _fingerprint(host: Host) -> str | None:
    if host.connection is ConnectionKind.LOCAL or not host.host_key:
        return None
    return str(pinned_key(host))


def _problem(error: ReplanError) -> Problem:
    return Problem(error.stage, error.reason, error.next_step, error.family)
