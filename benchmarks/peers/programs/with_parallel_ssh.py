"""parallel-ssh: all plans in step, one command on all hosts; each result is committed."""

import time

from pssh.clients import ParallelSSHClient
from pssh.config import HostConfig

from benchmarks.peers.programs.brief import Brief, answer, read
from benchmarks.peers.programs.kept import Kept


def connect(brief: Brief) -> ParallelSSHClient:
    """A client with a warm connection for each plan."""
    servers = [brief.server_of(number) for number in range(brief.plans)]
    client = ParallelSSHClient(
        [server.host for server in servers],
        host_config=[HostConfig(port=s.port, user=s.user, private_key=s.key) for s in servers],
        allow_agent=False,
        pool_size=brief.plans,
    )
    in_step(client, None)
    return client


def in_step(client: ParallelSSHClient, kept: Kept | None) -> int:
    """One command on each host; how many succeeded, each of them kept."""
    outputs = client.run_command("true")
    client.join(outputs)
    succeeded = 0
    for output in outputs:
        text = "\n".join(output.stdout)
        if kept is not None:
            kept.add(output.host, "true", output.exit_code, text)
        succeeded += output.exit_code == 0
    return succeeded


def main() -> None:
    """Connect, then measure."""
    brief = read()
    Kept.prepare(brief.database)
    kept = Kept(brief.database)
    client = connect(brief)
    succeeded, spans = 0, []
    for _ in range(brief.commands):
        begun = time.perf_counter()
        succeeded += in_step(client, kept)
        spans.append(time.perf_counter() - begun)
    kept.close()
    answer(succeeded, sum(spans), spans)


if __name__ == "__main__":
    main()
