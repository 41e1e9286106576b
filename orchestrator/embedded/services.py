"""Everything `replan up`, the demonstration and the tests need beside the product's own code."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

from orchestrator.embedded.folder import HeldFolder
from orchestrator.embedded.postgres import EmbeddedPostgres
from orchestrator.embedded.supervisor import Supervisor, ignore
from orchestrator.embedded.valkey import EmbeddedValkey
from orchestrator.embedded.watched import Child, ChildEvent
from shared.domain.errors import Misconfigured

ATTEMPTS: Final = 3


class Service(Protocol):
    """A server that says how it is run."""

    def child(self) -> Child:
        """The process to supervise, on a port that is free now."""
        ...

    def lost_its_port(self) -> bool:
        """Whether somebody else took that port since."""
        ...


class EmbeddedServices:
    """A Postgres and a Valkey in `data_dir`, running while this context is open.

    Entering blocks until both answer, and raises Misconfigured when the folder is in use, the
    wheels are missing or a server does not come up. Both end with this process, also when it is
    killed. `supervisor` may be given more children; they are stopped before the servers.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        postgres_port: int | None = None,
        valkey_port: int | None = None,
        durable: bool = True,
        on_event: Callable[[ChildEvent], None] = ignore,
    ) -> None:
        self.data_dir = data_dir.absolute()
        self.supervisor = Supervisor(self.data_dir / "logs", on_event)
        self._ports = (postgres_port, valkey_port)
        self._durable = durable
        self._open = contextlib.ExitStack()
        self._postgres: EmbeddedPostgres | None = None
        self._valkey: EmbeddedValkey | None = None

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            stack.enter_context(HeldFolder(self.data_dir))
            stack.enter_context(self.supervisor)
            postgres_port, valkey_port = self._ports
            self._postgres = EmbeddedPostgres(
                self.data_dir / "postgres", postgres_port, durable=self._durable
            )
            self._valkey = EmbeddedValkey(self.data_dir / "valkey", valkey_port)
            start(self.supervisor, self._postgres)
            start(self.supervisor, self._valkey)
            self._postgres.create_database()
            self._open = stack.pop_all()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._open.close()

    @property
    def database_url(self) -> str:
        """`postgresql+psycopg://…`, the product's own database."""
        assert self._postgres is not None, "not entered"  # noqa: S101 - narrows the type
        return self._postgres.url()

    @property
    def admin_url(self) -> str:
        """The same database as superuser of the whole server: for tests."""
        assert self._postgres is not None, "not entered"  # noqa: S101 - narrows the type
        return self._postgres.admin_url()

    @property
    def broker_url(self) -> str:
        """`redis://…`, database 0."""
        assert self._valkey is not None, "not entered"  # noqa: S101 - narrows the type
        return self._valkey.url


def start(supervisor: Supervisor, service: Service) -> None:
    """Run a service; on another port if somebody took the chosen one before it listened.

    Raises Misconfigured if it does not come up.
    """
    for remaining in reversed(range(ATTEMPTS)):
        try:
            supervisor.add(service.child())
        except Misconfigured:
            if not (remaining and service.lost_its_port()):
                raise
        else:
            return
