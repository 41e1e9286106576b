"""The phases of a campaign: for how long, how much load, and which faults how often."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.chaos import (
    faults_broker,
    faults_clocks,
    faults_disks,
    faults_failover,
    faults_half_open,
    faults_hostile,
    faults_hosts,
    faults_postgres,
    faults_roles,
    faults_runner,
    faults_workers,
)
from tests.chaos.faults import Fault

REGISTRY: Final[Mapping[str, Fault]] = {
    fault.name: fault
    for module in (
        faults_workers,
        faults_broker,
        faults_postgres,
        faults_hosts,
        faults_runner,
        faults_hostile,
        faults_half_open,
        faults_roles,
        faults_failover,
        faults_disks,
        faults_clocks,
    )
    for fault in module.FAULTS
}


AT_ONCE: Final = 1.0
RECOVERY: Final = 8.0
BUSY: Final = 10
"""What faults that are to be told apart get: seconds before and after, and jobs to be done."""


@dataclass(frozen=True, slots=True)
class Phase:
    """`faults` (name to count) come at random moments within `seconds`.

    All the while about `busy` jobs are to be done.
    """

    name: str
    seconds: float
    busy: int
    faults: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Programme:
    """Phases, the least number of tasks over all of them, and how long the end may take (s).

    `settings` are variables that the product's processes get besides.
    """

    phases: tuple[Phase, ...]
    tasks: int
    patience: float
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def faults(self) -> frozenset[str]:
        """The names of all its faults."""
        return frozenset(name for phase in self.phases for name in phase.faults)


def one_by_one(*faults: str) -> Iterator[Phase]:
    """A phase for each fault, at its beginning, with some time to recover before the next."""
    for name in faults:
        yield Phase(name, AT_ONCE, BUSY, {name: 1})
        yield Phase(f"after {name}", RECOVERY, BUSY)


FULL: Final = Programme(
    phases=(
        Phase(
            "workers",
            110,
            14,
            {
                "executor killed": 120,
                "coordinator killed": 60,
                "planner killed": 24,
                "process frozen 5 s": 20,
                "executor's session ended": 20,
            },
        ),
        Phase("failover", 12, 16, {"failover without the last 8 s": 1}),
        *one_by_one(
            "database half-open 20 s",
            "broker half-open 20 s",
            "hosts half-open 5 s",
            "broker a replica 20 s",
            "broker without master 20 s",
            "database read-only 20 s",
            "all executors frozen 8 s",
            "all coordinators frozen 8 s",
            "database disk full 10 s",
            "host disks full 10 s",
        ),
        Phase(
            "clocks",
            14,
            12,
            {"clocks of workers stepped 1 h": 2, "clock of hosts stepped 1 h": 1},
        ),
        Phase(
            "broker",
            70,
            10,
            {
                "broker killed": 10,
                "broker emptied": 10,
                "broker's clients killed": 10,
                "worker frozen, then killed": 10,
            },
        ),
        Phase(
            "database",
            60,
            10,
            {
                "database restarted at once": 6,
                "database connections ended": 10,
                "answer to a commit lost": 12,
            },
        ),
        Phase(
            "hosts",
            110,
            14,
            {
                "session of sshd killed": 100,
                "link cut": 10,
                "link silent 5 s": 10,
                "link slow 3 s": 5,
                "sshd down 10 s": 3,
                "runner killed": 10,
                "host booted anew": 5,
            },
        ),
        Phase(
            "mixed",
            60,
            12,
            {
                "executor killed": 15,
                "coordinator killed": 8,
                "planner killed": 5,
                "process frozen 5 s": 3,
                "broker killed": 2,
                "broker emptied": 3,
                "broker's clients killed": 2,
                "database restarted at once": 1,
                "database connections ended": 3,
                "answer to a commit lost": 3,
                "session of sshd killed": 10,
                "link silent 5 s": 2,
            },
        ),
        Phase(
            "hostile",
            30,
            16,
            {"message forged": 105, "message replayed": 100, "job sent to two workers": 50},
        ),
    ),
    tasks=200,
    patience=110,
)
"""In less than a quarter of an hour, settling included."""

SHORT: Final = Programme(
    phases=(
        Phase(
            "mixed",
            30,
            8,
            {
                "executor killed": 36,
                "coordinator killed": 18,
                "planner killed": 8,
                "process frozen 5 s": 1,
                "executor's session ended": 4,
                "broker killed": 2,
                "broker emptied": 2,
                "broker's clients killed": 2,
                "worker frozen, then killed": 2,
                "database restarted at once": 1,
                "database connections ended": 2,
                "answer to a commit lost": 3,
                "session of sshd killed": 4,
                "link silent 5 s": 1,
            },
        ),
        Phase(
            "hostile",
            8,
            14,
            {"message forged": 21, "message replayed": 20, "job sent to two workers": 10},
        ),
        Phase("away", 1, 8, {"broker a replica 5 s": 1, "database half-open 5 s": 1}),
    ),
    tasks=20,
    patience=120,
    settings={"REPLAN_DATABASE_TIMEOUT": "5"},
)
"""A minute and a half, as a part of the ordinary suite."""
