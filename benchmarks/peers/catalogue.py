"""Who takes part, and what bounds each: the peers, the floors, and replan itself."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from benchmarks.peers.workloads import FOUR_HOSTS, MANY_PLANS, ONE_HOST, ONE_PLAN, Workload

OVER_SSH: Final = (ONE_HOST, FOUR_HOSTS)
DURABLE: Final = (ONE_PLAN, MANY_PLANS)


class Kind(StrEnum):
    """Why somebody stands in a table."""

    REPLAN = "replan"
    FLOOR = "floor"
    PEER = "peer"


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way of doing some workloads.

    A peer has its name in `benchmarks/peers/requirements/<peer>.txt` and its program in
    `benchmarks/peers/programs/with_<peer>.py`; `form` is told to the program. `rounds` says how
    often it is measured: the slow ones once. `command` is what runs, where it is not `true`.
    """

    name: str
    workloads: tuple[Workload, ...]
    bound: str
    kind: Kind = Kind.PEER
    peer: str = ""
    form: str = ""
    rounds: int = 3
    command: str = "true"


REPLAN: Final = Contestant(
    "replan",
    (*OVER_SSH, *DURABLE),
    "one plan: the Python that records each answer; many: that of each plan's messages and rows",
    kind=Kind.REPLAN,
)
PROGRAM: Final = "/bin/true"
"""A command for which a program has to be started: no shell knows it itself."""

REPLAN_PROGRAM: Final = Contestant(
    f"replan: {PROGRAM}",
    OVER_SSH,
    "a shell and the program, both started on the host for each command",
    kind=Kind.REPLAN,
    command=PROGRAM,
)
BARE: Final = Contestant(
    "bare paramiko",
    OVER_SSH,
    "a session process that sshd forks for each command; keeps nothing",
    kind=Kind.FLOOR,
)
COMMITTING: Final = Contestant(
    "bare paramiko, commit each",
    OVER_SSH,
    "sshd's fork and a commit before each further command; eight threads at most",
    kind=Kind.FLOOR,
)

BARE_PROGRAM: Final = replace(BARE, name=f"bare paramiko: {PROGRAM}", command=PROGRAM)
COMMITTING_PROGRAM: Final = replace(
    COMMITTING, name=f"bare paramiko, commit each: {PROGRAM}", command=PROGRAM
)
OURS: Final = (REPLAN, REPLAN_PROGRAM)
FLOORS: Final = (BARE, COMMITTING, BARE_PROGRAM, COMMITTING_PROGRAM)

PEERS: Final = (
    Contestant(
        "ansible-core: command",
        (ONE_HOST,),
        "a module is packed, sent and started in a new Python for each command",
        peer="ansible",
        form="linear command",
        rounds=1,
    ),
    Contestant(
        "ansible-core: command, linear",
        (FOUR_HOSTS,),
        "a module sent and a new Python for each command; each task waits for the slowest host",
        peer="ansible",
        form="linear command",
        rounds=1,
    ),
    Contestant(
        "ansible-core: command, free",
        (FOUR_HOSTS,),
        "a module is packed, sent and started in a new Python for each command",
        peer="ansible",
        form="free command",
        rounds=1,
    ),
    Contestant(
        "ansible-core: raw tasks",
        (ONE_HOST,),
        "a worker process and an ssh client for each task",
        peer="ansible",
        form="linear raw",
    ),
    Contestant(
        "ansible-core: raw tasks, linear",
        (FOUR_HOSTS,),
        "a worker process and an ssh client for each task, which waits for the slowest host",
        peer="ansible",
        form="linear raw",
    ),
    Contestant(
        "ansible-core: raw tasks, free",
        (FOUR_HOSTS,),
        "a worker process and an ssh client for each task",
        peer="ansible",
        form="free raw",
    ),
    Contestant(
        "ansible-core: raw in a loop",
        OVER_SSH,
        "an ssh client for each command, over one connection",
        peer="ansible",
        form="linear loop",
    ),
    Contestant(
        "pyinfra",
        OVER_SSH,
        "waits of TCP (no TCP_NODELAY) and its own preparation of each operation; keeps nothing",
        peer="pyinfra",
    ),
    Contestant(
        "fabric, commit each",
        OVER_SSH,
        "waits of TCP (no TCP_NODELAY); threads hide them on many hosts",
        peer="fabric",
    ),
    Contestant(
        "parallel-ssh, commit each",
        OVER_SSH,
        "waits of TCP (no TCP_NODELAY); on many hosts all wait for the slowest",
        peer="parallel_ssh",
    ),
    Contestant(
        "Celery chain, commit each",
        OVER_SSH,
        "a message through the broker for each command, and a commit",
        peer="celery",
    ),
    Contestant("DBOS", DURABLE, "a commit for each step, in one Python process", peer="dbos"),
    Contestant(
        "Prefect",
        (ONE_PLAN,),
        "states of each task are told to its server, over HTTP and into SQLite",
        peer="prefect",
        rounds=1,
    ),
    Contestant(
        "procrastinate (a job for each no-op)",
        DURABLE,
        "three statements for each job; a queue only, no plan is kept",
        peer="procrastinate",
    ),
)

PEER_NAMES: Final = tuple(dict.fromkeys(contestant.peer for contestant in PEERS))
"""What `--peers` may name."""
