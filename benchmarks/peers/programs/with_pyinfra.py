"""pyinfra: `server.shell` operations through its API, each host going on by itself."""

from gevent import monkey

monkey.patch_all()

import time  # noqa: E402 - gevent wants to be first

from pyinfra.api import Config, Inventory, State  # noqa: E402
from pyinfra.api.connect import connect_all, disconnect_all  # noqa: E402
from pyinfra.api.operation import add_op  # noqa: E402
from pyinfra.api.operations import run_ops  # noqa: E402
from pyinfra.operations import server  # noqa: E402

from benchmarks.peers.programs.brief import Brief, answer, read  # noqa: E402


def inventory(brief: Brief) -> Inventory:
    """A host for each plan."""
    hosts = []
    for number in range(brief.plans):
        place = brief.server_of(number)
        data = {
            "ssh_hostname": place.host,
            "ssh_port": place.port,
            "ssh_user": place.user,
            "ssh_key": place.key,
            "ssh_allow_agent": False,
            "ssh_look_for_keys": False,
            "ssh_known_hosts_file": place.known_hosts,
            "ssh_strict_host_key_checking": "yes",
        }
        hosts.append((f"p{number}", data))
    return Inventory((hosts, {}))


def main() -> None:
    """Connect and prepare the operations, then measure."""
    brief = read()
    hosts = inventory(brief)
    state = State(hosts, Config(PARALLEL=brief.plans))
    connect_all(state)
    for number in range(brief.commands):
        add_op(state, server.shell, name=f"command {number}", commands=["true"])
    begun = time.perf_counter()
    run_ops(state, no_wait=True)
    seconds = time.perf_counter() - begun
    succeeded = sum(state.results[host].success_ops for host in hosts)
    disconnect_all(state)
    answer(succeeded, seconds)


if __name__ == "__main__":
    main()
