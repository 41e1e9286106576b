"""Opens shells on any host, local or over SSH."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from shared.domain.host import ConnectionKind, Host
from shared.secrets.masking import Masker
from workers.shells.ports import PassRecord, Shell
from workers.shells.remote.host_secrets import no_vault
from workers.shells.remote.local_channel import LocalCarrier
from workers.shells.remote.runner_text import RECORDS_CAP
from workers.shells.remote.runners import RunnerPool
from workers.shells.remote.shell import RunnerShell

if TYPE_CHECKING:
    from workers.shells.remote.ssh import SshConnections

_COOLING_SECONDS = 5.0


class HostConnections:
    """The `workers.shells.ports.Connections` of a worker; safe to use from many threads.

    `reveal` returns the secret of a name in a host's entry; without it there is no vault.
    `records_cap` is the number of bytes that the records on a host may take up.
    """

    def __init__(
        self, reveal: Callable[[str], str] | None = None, *, records_cap: int = RECORDS_CAP
    ) -> None:
        self._reveal = reveal
        self._records_cap = records_cap
        self._ssh: SshConnections | None = None
        self._here: dict[Host, RunnerPool] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._cooling: threading.Thread | None = None

    def shell(
        self, host: Host, record: PassRecord | None = None, masker: Masker | None = None
    ) -> Shell:
        """A shell on the host; see `workers.shells.ports.Connections.shell`."""
        self._start_cooling()
        if host.connection is not ConnectionKind.LOCAL:
            return self._over_ssh().shell(host, record, masker)
        return RunnerShell(host, self._local_runners(host), record, masker=masker)

    def runners(self, host: Host) -> RunnerPool:
        """The runners on a host, for whoever reads the records of others."""
        if host.connection is not ConnectionKind.LOCAL:
            return self._over_ssh().runners(host)
        return self._local_runners(host)

    def close(self) -> None:
        """Close every connection; commands that still run go on."""
        self._closing.set()
        with self._lock:
            if self._ssh is not None:
                self._ssh.close()
            for runners in self._here.values():
                runners.close()

    def _local_runners(self, host: Host) -> RunnerPool:
        place = host.in_any_folder
        with self._lock:
            if place not in self._here:
                cap = self._records_cap
                self._here[place] = RunnerPool(place, lambda *_: LocalCarrier(), records_cap=cap)
            return self._here[place]

    def _over_ssh(self) -> "SshConnections":
        with self._lock:
            if self._ssh is None:
                # Only workers that need paramiko load it.
                from workers.shells.remote.ssh import SshConnections

                self._ssh = SshConnections(
                    reveal=self._reveal or no_vault, records_cap=self._records_cap
                )
            return self._ssh

    def _start_cooling(self) -> None:
        with self._lock:
            if self._cooling is None:
                self._cooling = threading.Thread(target=self._cool, name="cooling", daemon=True)
                self._cooling.start()

    def _cool(self) -> None:
        while not self._closing.wait(_COOLING_SECONDS):
            with self._lock:
                runners, ssh = list(self._here.values()), self._ssh
            for pool in runners:
                pool.cool_down()
            if ssh is not None:
                ssh.cool_down()
