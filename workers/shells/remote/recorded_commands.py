"""Looks at the commands that a host has recorded of a step, and ends what still runs of them."""

import shlex
from collections.abc import Collection, Iterator

from shared.domain.errors import ReplanError
from shared.domain.found_on_host import CommandOnHost
from shared.domain.host import Host
from workers.shells.ports import LOOK, Call, Shell
from workers.shells.records import State
from workers.shells.remote.channels import LostError
from workers.shells.remote.connections import HostConnections
from workers.shells.remote.errors import transient
from workers.shells.remote.runner import Runner

_TIMEOUT = 20.0

# Both folders in which a runner keeps records; only the logs of this step.
_STEMS = r"""
for root in "${REPLAN_ATTEMPT%%/looks/*}" /dev/shm/replan-"$(id -u)"; do
  for log in "$root"/%s-*.log; do
    [ ! -e "$log" ] || printf '%%s\n' "${log%%.log}"
  done
done | sort -u
"""


def recorded_commands(
    connections: HostConnections,
    host: Host,
    step: str,
    keys: Collection[str],
    *,
    end: Collection[str] = (),
) -> tuple[CommandOnHost, ...]:
    """What the host says of these attempts of a step, and of all that it has no end of.

    `step` begins the names of its records (`ab/RUN-STEP`). Of the attempts `end` everything that
    still runs is ended first. Raises what a connection raises, and Transient if it is lost.
    """
    shell = connections.shell(host)
    try:
        stems = _stems(shell, step)
        with connections.runners(host).runner() as runner:
            looks = [_look(runner, stem, {*keys}, {*end}) for stem in stems]
            return tuple(each for look in looks for each in look)
    except LostError as lost:
        raise _lost(host, lost) from lost
    finally:
        shell.close()


def _stems(shell: Shell, step: str) -> list[str]:
    result = shell.run(Call(_STEMS % shlex.quote(step), _TIMEOUT))
    return result.stdout.decode("utf-8", "replace").splitlines()


def _look(runner: Runner, stem: str, keys: set[str], end: set[str]) -> Iterator[CommandOnHost]:
    log = runner.log(stem)
    for key, record in log.records.items():
        if log.runner is None or record.state is State.NEVER or key.startswith(LOOK):
            continue
        if key not in keys and record.state is not State.RUNNING:
            continue
        if key in end:
            runner.kill(record, log.runner, "cancel")
        left = runner.remaining_processes(record, log.runner)
        ended = record.state is State.ENDED
        yield CommandOnHost(key, ended, record.exit_code, left)


def _lost(host: Host, lost: LostError) -> ReplanError:
    return transient(host, f"the connection was lost ({lost})", stage="repair")
