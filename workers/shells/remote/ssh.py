"""Opens shells over SSH, on connections that stay warm."""

import threading
from functools import partial

from shared.domain.host import Host
from shared.secrets.masking import Masker
from workers.passes.ports import Cancelled
from workers.shells.ports import PassRecord
from workers.shells.remote.capture import STREAM_LIMIT
from workers.shells.remote.host_secrets import Reveal, no_vault, reveal_secret
from workers.shells.remote.pool import Pool
from workers.shells.remote.runner_text import RECORDS_CAP, exec_line
from workers.shells.remote.runners import RunnerPool
from workers.shells.remote.shell import RunnerShell
from workers.shells.remote.ssh_channel import SshCarrier
from workers.shells.remote.transport import DEFAULT_TIMING, Timing, connect

IDLE_SECONDS = 300.0
"""A host's connections close after this long without a command."""


class SshConnections:
    """Opens shells over SSH and keeps their connections warm; safe to use from many threads."""

    def __init__(
        self,
        timing: Timing = DEFAULT_TIMING,
        *,
        stream_limit: int = STREAM_LIMIT,
        reveal: Reveal = no_vault,
        records_cap: int = RECORDS_CAP,
    ) -> None:
        self._records_cap = records_cap
        self._reveal = reveal
        self._timing = timing
        self._stream_limit = stream_limit
        self._places: dict[Host, tuple[Pool, RunnerPool]] = {}
        self._lock = threading.Lock()

    def shell(
        self, host: Host, record: PassRecord | None = None, masker: Masker | None = None
    ) -> RunnerShell:
        """A shell on the host; see `workers.shells.ports.Connections.shell`."""
        pool, runners = self._place(host)
        pool.warm_up()
        return RunnerShell(host, runners, record, stream_limit=self._stream_limit, masker=masker)

    def runners(self, host: Host) -> RunnerPool:
        """The runners on a host."""
        return self._place(host)[1]

    def cool_down(self) -> None:
        """Close runners and connections that have been idle for too long."""
        with self._lock:
            places = list(self._places.values())
        for pool, runners in places:
            runners.cool_down()
            pool.cool_down(IDLE_SECONDS)

    def close(self) -> None:
        """Close every connection; commands that still run go on."""
        with self._lock:
            places, self._places = list(self._places.values()), {}
        for pool, runners in places:
            runners.close()
            pool.close()

    def _place(self, host: Host) -> tuple[Pool, RunnerPool]:
        host = host.in_any_folder
        with self._lock:
            if host not in self._places:
                opening = partial(connect, host, self._timing, reveal=self._reveal)
                pool = Pool(host, opening, open_timeout=self._timing.open_session)
                reach = partial(self._reach, host, pool)
                runners = RunnerPool(host, reach, records_cap=self._records_cap)
                self._places[host] = pool, runners
            return self._places[host]

    def _reach(self, host: Host, pool: Pool, own_session: bool, unwanted: Cancelled) -> SshCarrier:
        word = reveal_secret(host, host.sudo_password, self._reveal) if host.sudo else None
        line = exec_line(host, own_session=own_session)
        return SshCarrier(host, pool, line, pool.session(unwanted), word or "")
