"""A real log-in to every host, for the doctor."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from orchestrator.acts import hosts
from orchestrator.acts.caller import Caller
from orchestrator.doctor import Finding
from shared.domain.errors import ReplanError
from shared.domain.next_step import NextStep

AT_ONCE: Final = 8
"""Hosts that are logged in to at the same time: each takes a process of its own."""


def examine_hosts(caller: Caller) -> Iterator[Finding]:
    """Log in to every host on which commands may run; never raises for what it finds."""
    try:
        enrolled = [host.name for host in hosts.list_hosts(caller) if not host.distrusted]
    except ReplanError as error:
        again = NextStep.of("doctor", hosts=True)
        yield Finding("host", False, error.reason, error.next_step or again)
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(lambda name: _log_in(caller, name), enrolled)


def _log_in(caller: Caller, name: str) -> Finding:
    again = NextStep.of("host check", name)
    try:
        report = hosts.check(caller, name).value.report
    except ReplanError as error:
        return Finding(f"host {name}", False, error.reason, error.next_step or again)
    if report is None or not report.blocking:
        return Finding(f"host {name}", True, "logged in, and commands can run")
    first = report.blocking[0]
    return Finding(f"host {name}", False, first.reason, first.next_step or again)
