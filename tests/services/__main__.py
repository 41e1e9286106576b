"""Fetch the servers, shells and agents that only the tests need, before any test's clock runs."""

import sys
from collections.abc import Callable
from functools import partial

from tests.services import agent_programs, redis_server, shells, sshd
from tests.services.availability import UnavailableError


def main() -> None:
    """Say which of them the tests will use; what is missing is the tests' to report."""
    report("redis", lambda: redis_server.server()[0])
    report("sshd", lambda: str(sshd.program().sshd))
    for name in shells.BINARIES:
        report(name, partial(lambda shell: str(shells.shell(shell)), name))
    for name in agent_programs.PACKAGES:
        report(name, partial(lambda agent: str(agent_programs.program(agent)), name))


def report(name: str, find: Callable[[], str]) -> None:
    """Say where a server is, or why there is none."""
    try:
        print(f"{name}: {find()}")
    except UnavailableError as reason:
        print(f"{name}: not available: {reason}", file=sys.stderr)


if __name__ == "__main__":
    main()
