"""fabric: a warm connection and a thread for each plan; each result is committed to Postgres."""

import time
from concurrent.futures import ThreadPoolExecutor

from fabric import Config, Connection
from paramiko import RejectPolicy

from benchmarks.peers.programs.brief import Brief, Server, answer, read
from benchmarks.peers.programs.kept import Kept


def connect(server: Server) -> Connection:
    """A warm connection with the host's key checked."""
    connection = Connection(
        server.host,
        user=server.user,
        port=server.port,
        config=Config(overrides={"load_ssh_configs": False}),
        connect_kwargs={
            "key_filename": server.key,
            "look_for_keys": False,
            "allow_agent": False,
        },
    )
    connection.client.load_host_keys(server.known_hosts)
    connection.client.set_missing_host_key_policy(RejectPolicy())
    connection.open()
    connection.run("true", hide=True, in_stream=False)
    return connection


def plan(brief: Brief, connection: Connection) -> list[float]:
    """The commands of one plan; the seconds that each took until its result was kept."""
    kept = Kept(brief.database)
    spans = []
    for _ in range(brief.commands):
        begun = time.perf_counter()
        result = connection.run("true", hide=True, in_stream=False)
        kept.add(connection.host, "true", result.exited, result.stdout)
        spans.append(time.perf_counter() - begun)
    kept.close()
    return spans


def main() -> None:
    """Connect, then measure."""
    brief = read()
    Kept.prepare(brief.database)
    connections = [connect(brief.server_of(number)) for number in range(brief.plans)]
    with ThreadPoolExecutor(brief.plans) as pool:
        begun = time.perf_counter()
        spans = [s for each in pool.map(lambda c: plan(brief, c), connections) for s in each]
        seconds = time.perf_counter() - begun
    for connection in connections:
        connection.close()
    answer(len(spans), seconds, spans)


if __name__ == "__main__":
    main()
