"""Checking a host through a worker process: the orchestrator never connects to one."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.probes.worker import WorkerCall, ask_worker
from orchestrator.views.values import NextStepValue
from shared.domain.errors import ReplanError
from shared.domain.host import ConnectionKind, Host
from shared.domain.next_step import Advice, NextStep, ShellCommand
from shared.domain.records import RecordedPass
from shared.wire import from_json, to_json

PATIENCE = 60.0
"""Seconds that a check may take."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that stops commands on a host, or a notice (`family` "notice")."""

    stage: str
    reason: str
    next_step: NextStepValue
    family: str

    @property
    def blocking(self) -> bool:
        """True when it stops every command on the host."""
        return self.family != "notice"


@dataclass(frozen=True, slots=True)
class HostReport:
    """What a worker found; `round_trip_ms` is the time of an empty command, in milliseconds.

    `passes` are those under which the host has started commands.
    """

    host: str
    reachable: bool
    authenticated: bool
    runs_commands: bool
    facts: Mapping[str, str]
    round_trip_ms: float | None
    host_key: str | None
    problems: tuple[Problem, ...]
    passes: tuple[RecordedPass, ...] = ()

    @property
    def blocking(self) -> tuple[Problem, ...]:
        """The problems that stop commands, in order."""
        return tuple(problem for problem in self.problems if problem.blocking)

    @property
    def notices(self) -> tuple[str, ...]:
        """The notices, which stop nothing."""
        return tuple(problem.reason for problem in self.problems if not problem.blocking)


def host_key(host: Host) -> tuple[str, str]:
    """The key that a server shows, and its fingerprint. Raises Transient or Misconfigured."""
    answer = _ask("host-key", host)
    return answer["line"], answer["fingerprint"]


def check(host: Host) -> HostReport:
    """Check a host. Raises Transient."""
    report = from_json(HostReport, _ask("host-check", host)["report"])
    problems = (replace(p, next_step=_onward(p.next_step, host)) for p in report.problems)
    return replace(report, problems=tuple(problems))


def _ask(verb: str, host: Host) -> dict[str, Any]:
    wanted = WorkerCall((verb,), host.name, "connect", PATIENCE)
    try:
        return ask_worker(wanted, json.dumps(to_json(host)))
    except ReplanError as error:
        error.next_step = _onward(error.next_step, host)
        raise


def _onward(step: Advice | None, host: Host) -> Advice | None:
    """What to do next; a log-in by hand in place of the check, which would say the same again."""
    if step != NextStep.of("host check", host.name) or host.connection is not ConnectionKind.SSH:
        return step
    return ShellCommand(shlex.join(["ssh", *_key(host), *_through(host), *_door(host), "true"]))


def _key(host: Host) -> list[str]:
    return [] if host.key_path is None else ["-i", host.key_path]


def _through(host: Host) -> list[str]:
    via = host.via
    return [] if via is None else ["-J", f"{_account(via)}:{via.port}"]


def _door(host: Host) -> list[str]:
    return ["-p", str(host.port), _account(host)]


def _account(host: Host) -> str:
    return f"{host.user}@{host.address}" if host.user else host.address
