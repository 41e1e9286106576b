"""Everything on one machine: the servers, the coordinator and the workers as one family.

What `replan up` and the demonstration run. Every member is a child of this process and ends with
it, however it ends.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from orchestrator.embedded.services import EmbeddedServices
from orchestrator.embedded.watched import Child, ChildEvent
from shared.settings import ConnectionFile
from shared.store.migrate import upgrade

THINKERS = ("taskmaster", "planner", "subtask_planner", "escalation")


@contextmanager
def together(
    data_dir: Path,
    environ: Mapping[str, str],
    *,
    executors: int = 1,
    on_event: Callable[[ChildEvent], None] = lambda _: None,
) -> Iterator[EmbeddedServices]:
    """The whole family, ready to take tasks, until the context is left.

    `environ` is what the children get, beside where the database and the broker are. Raises
    Misconfigured when the folder is in use or a member does not come up.
    """
    with EmbeddedServices(data_dir, on_event=on_event) as services:
        upgrade(services.database_url)
        env = {
            **environ,
            "REPLAN_DATABASE_URL": services.database_url,
            "REPLAN_BROKER_URL": services.broker_url,
        }
        services.supervisor.add(*_members(env, executors))
        ConnectionFile(services.database_url, services.broker_url, os.getpid()).write(data_dir)
        try:
            yield services
        finally:
            ConnectionFile.remove(data_dir)


def _members(env: Mapping[str, str], executors: int) -> Iterator[Child]:
    yield Child(
        name="coordinator",
        argv=(sys.executable, "-m", "orchestrator.cli.main", "coordinator", "start"),
        env=env,
    )
    yield _worker("thinkers", THINKERS, env)
    for number in range(1, executors + 1):
        yield _worker(f"executor-{number}", ("executor",), env)


def _worker(name: str, roles: tuple[str, ...], env: Mapping[str, str]) -> Child:
    argv = (sys.executable, "-m", "workers", "start", *roles)
    return Child(name=name, argv=argv, env=env)
