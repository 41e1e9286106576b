"""A plain Celery chain for each plan: a task runs one command over SSH and commits its result.

With the further argument `worker` it is the worker: 16 threads, one warm connection with
TCP_NODELAY to each host, one connection to Postgres a thread.
"""

import socket
import subprocess
import sys
import threading
import time
from functools import cache

import paramiko
from celery import Celery, chain
from redis import Redis

from benchmarks.peers.programs.brief import Brief, answer, read
from benchmarks.peers.programs.kept import Kept

ENDED = "benchmark:ended"
THREADS = 16
PATIENCE = 300.0


class Hosts:
    """Warm connections that threads share, and each thread's connection to the database."""

    def __init__(self, brief: Brief) -> None:
        self._brief = brief
        self._own = threading.local()
        self._lock = threading.Lock()
        self._connect = cache(self._connected)

    def carry_out(self, plan: int) -> None:
        """One command of that plan, its result kept."""
        with self._lock:
            transport = self._connect(plan % len(self._brief.servers))
        channel = transport.open_session()
        channel.exec_command("true")
        output = b""
        while chunk := channel.recv(65536):
            output += chunk
        exit_code = channel.recv_exit_status()
        channel.close()
        if not hasattr(self._own, "kept"):
            self._own.kept = Kept(self._brief.database)
        self._own.kept.add(self._brief.server_of(plan).host, "true", exit_code, output.decode())

    def _connected(self, number: int) -> paramiko.Transport:
        server = self._brief.servers[number]
        raw = socket.create_connection((server.host, server.port))
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport = paramiko.Transport(raw)
        known = paramiko.HostKeys(server.known_hosts)[f"[{server.host}]:{server.port}"]
        key = paramiko.Ed25519Key.from_private_key_file(server.key)
        transport.connect(hostkey=known["ssh-ed25519"], username=server.user, pkey=key)
        return transport


def make(brief: Brief) -> Celery:
    """The application with its two tasks."""
    app = Celery("peer", broker=brief.broker, set_as_current=False)
    app.conf.update(
        task_default_queue="peer", task_ignore_result=True, broker_connection_retry_on_startup=True
    )
    hosts = Hosts(brief)

    def command(plan: int) -> None:
        hosts.carry_out(plan)

    def end() -> None:
        with Redis.from_url(brief.broker) as redis:
            redis.rpush(ENDED, 1)

    app.task(command, name="command")
    app.task(end, name="end")
    return app


def measured(brief: Brief, app: Celery) -> float:
    """Seconds from sending the first chain to the end of the last, after some that warm up."""
    with Redis.from_url(brief.broker, socket_timeout=2 * PATIENCE) as redis:

        def send(commands: int) -> None:
            for plan in range(brief.plans):
                links = [app.signature("command", (plan,), immutable=True)] * commands
                chain(*links, app.signature("end", immutable=True), app=app).apply_async()

        def await_all() -> None:
            for _ in range(brief.plans):
                if redis.blpop([ENDED], timeout=PATIENCE) is None:
                    raise TimeoutError("the worker does not answer")

        redis.flushdb()
        send(1)
        await_all()
        begun = time.perf_counter()
        send(brief.commands)
        await_all()
        return time.perf_counter() - begun


def main() -> None:
    """Start the worker, then measure."""
    brief = read()
    app = make(brief)
    if "worker" in sys.argv:
        app.Worker(
            pool="threads", concurrency=THREADS, queues=["peer"], loglevel="ERROR", quiet=True
        ).start()
        return
    Kept.prepare(brief.database)
    command = [sys.executable, "-m", "benchmarks.peers.programs.with_celery", sys.argv[1], "worker"]
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        answer(brief.count, measured(brief, app))
    finally:
        worker.terminate()
        worker.wait()


if __name__ == "__main__":
    main()
