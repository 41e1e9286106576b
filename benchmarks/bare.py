"""The floor over SSH: bare paramiko, warm, with TCP_NODELAY, nothing kept or checked."""

import base64
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import paramiko

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
    transport = connect(server)
    try:
        execute(transport, "true")
        begun = time.perf_counter()
        for _ in range(commands):
            execute(transport, "true")
        return commands / (time.perf_counter() - begun)
    finally:
        transport.close()


def fleet(servers: Sequence[SshServer], plans: int, commands: int, threads: int = 8) -> float:
    """Commands a second for so many plans at once; eight threads, one warm transport a host."""
    transports = [connect(server) for server in servers]
    try:
        for transport in transports:
            execute(transport, "true")

        def plan(number: int) -> None:
            for _ in range(commands):
                execute(transports[number % len(transports)], "true")

        begun = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(plan, range(plans)))
        return plans * commands / (time.perf_counter() - begun)
    finally:
        for transport in transports:
            transport.close()
