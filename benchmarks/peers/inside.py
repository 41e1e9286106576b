"""replan itself and the floors beneath it, measured from this process."""

import time
from typing import Final

from sqlalchemy import text

from benchmarks import bare
from benchmarks.peers.catalogue import (
    BARE,
    BARE_PROGRAM,
    COMMITTING,
    COMMITTING_PROGRAM,
    OURS,
    Contestant,
)
from benchmarks.peers.outside import own_database
from benchmarks.peers.takings import Taking
from benchmarks.peers.workloads import FOUR_HOSTS, ONE_HOST, Workload
from benchmarks.stage import SPAN, Stage

LATENCIES: Final = text("""
    SELECT extract(epoch FROM lead(a.started_at, 1, a.ended_at)
        OVER (PARTITION BY a.run_id ORDER BY a.started_at, a.id) - a.started_at) * 1000
    FROM attempts a JOIN runs r ON r.id = a.run_id WHERE r.task_id = ANY(:ids)
""")


def take(stage: Stage, contestant: Contestant, workload: Workload) -> Taking:
    """Let one of them do the workload once."""
    if contestant in OURS:
        return replan(stage, workload, contestant.command)
    if contestant in {BARE, BARE_PROGRAM}:
        return floor(stage, workload, contestant.command)
    assert contestant in {COMMITTING, COMMITTING_PROGRAM}
    servers = stage.sshd[:1] if workload.key == ONE_HOST.key else stage.sshd
    database = own_database(stage, "floor")
    rate = bare.fleet_committing(
        servers, workload.plans, workload.commands, database, command=contestant.command
    )
    return Taking(rate)


def floor(stage: Stage, workload: Workload, command: str) -> Taking:
    """Bare paramiko that keeps nothing."""
    if workload.key == FOUR_HOSTS.key:
        rate = bare.fleet(stage.sshd, workload.plans, workload.commands, command=command)
        return Taking(rate)
    latencies = bare.latencies(stage.sshd[0], workload.commands, command)
    return Taking(len(latencies) / sum(latencies), [1000 * latency for latency in latencies])


def replan(stage: Stage, workload: Workload, command: str) -> Taking:
    """The whole product.

    On one host the time is that of the job, from its claim to its end, since the start of a peer's
    program is not counted either; everywhere else it is from the first submission until all tasks
    are known to be done.
    """
    over_ssh = workload.key in {ONE_HOST.key, FOUR_HOSTS.key}
    begun = time.perf_counter()
    tasks = []
    for number in range(workload.plans):
        target = f"h{number % len(stage.sshd) + 1}" if over_ssh else "localhost"
        tasks.append(stage.submit([command] * workload.commands, target))
    stage.wait(tasks)
    seconds = time.perf_counter() - begun
    if workload.key == ONE_HOST.key:
        seconds = float(stage.scalar(SPAN, ids=tasks))
    with stage.database.begin() as connection:
        latencies = [float(row[0]) for row in connection.execute(LATENCIES, {"ids": tasks})]
    return Taking(workload.count / seconds, latencies)
