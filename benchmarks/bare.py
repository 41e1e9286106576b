"""The floor over SSH: bare paramiko, warm, with TCP_NODELAY, nothing kept or checked."""

import base64
import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import paramiko

from benchmarks.peers.programs.kept import Kept
from tests.services.sshd import SshServer


def connect(server: SshServer) -> paramiko.Transport:
    """A warm transport that does not wait for more before it sends."""
    raw = socket.create_connection((server.host, server.port))
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    transport = paramiko.Transport(raw)
    key = paramiko.Ed25519Key.from_private_key_file(str(server.key_path))
    pinned = paramiko.Ed25519Key(data=base64.b64decode(server.host_public_key.split()[1]))
    transport.connect(hostkey=pinned, username=server.user, pkey=key)
    return transport


def execute(transport: paramiko.Transport, command: str) -> int:
    """One command on a channel of its own, output read to the end."""
    channel = transport.open_session()
    channel.exec_command(command)
    while channel.recv(65536):
        pass
    status = channel.recv_exit_status()
    channel.close()
    return status


def sequential(server: SshServer, commands: int) -> float:
    """Commands a second, one after another on one warm transport."""
    return commands / sum(latencies(server, commands))


def latencies(server: SshServer, commands: int, command: str = "true") -> list[float]:
    """Seconds of each command, one after another on one warm transport."""
    with warm([server]) as (transport,):
        return [timed(transport, command) for _ in range(commands)]


def fleet(
    servers: Sequence[SshServer],
    plans: int,
    commands: int,
    threads: int = 8,
    *,
    command: str = "true",
) -> float:
    """Commands a second for so many plans at once; eight threads, one warm transport a host."""
    with warm(servers) as transports:

        def plan(number: int) -> None:
            for _ in range(commands):
                execute(transports[number % len(transports)], command)

        return plans * commands / at_once(plan, plans, threads)


def fleet_committing(
    servers: Sequence[SshServer],
    plans: int,
    commands: int,
    database: str,
    threads: int = 8,
    *,
    command: str = "true",
) -> float:
    """As `fleet`, each result committed to Postgres before the plan's next command.

    `database` is a libpq URL; each thread has a connection of its own.
    """
    Kept.prepare(database)
    with warm(servers) as transports, contextlib.ExitStack() as stack:
        free: SimpleQueue[Kept] = SimpleQueue()
        for _ in range(threads):
            kept = Kept(database)
            stack.callback(kept.close)
            free.put(kept)

        def plan(number: int) -> None:
            kept = free.get()
            server = number % len(transports)
            for _ in range(commands):
                status = execute(transports[server], command)
                kept.add(servers[server].host, command, status)
            free.put(kept)

        return plans * commands / at_once(plan, plans, threads)


@contextlib.contextmanager
def warm(servers: Sequence[SshServer]) -> Iterator[list[paramiko.Transport]]:
    """A transport to each server on which a command has run; closed at the end."""
    with contextlib.ExitStack() as stack:
        transports = []
        for server in servers:
            transports.append(connect(server))
            stack.callback(transports[-1].close)
        for transport in transports:
            execute(transport, "true")
        yield transports


def timed(transport: paramiko.Transport, command: str) -> float:
    """Seconds of one command."""
    begun = time.perf_counter()
    execute(transport, command)
    return time.perf_counter() - begun


def at_once(plan: Callable[[int], None], plans: int, threads: int) -> float:
    """Seconds until that many plans have ended, so many threads sharing them."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(plan, range(plans)))
    return time.perf_counter() - begun
