"""Faults of the broker, and of a worker that waits for it."""

import os
import random
import signal
from collections.abc import Callable
from typing import Final

import redis

from tests.chaos.faults import Act, Fault, Injected
from tests.chaos.stage import Stage

LISTENING: Final = 1.0
"""Seconds that a worker stands still with the bells it was sent before it is killed."""


def _killed(stage: Stage, _chance: random.Random) -> Injected | None:
    pid = stage.pid_of("valkey")
    if pid is None:
        return None
    os.kill(pid, signal.SIGKILL)
    return Injected()


def _told(order: Callable[[redis.Redis], object]) -> Act:
    def inject(stage: Stage, _chance: random.Random) -> Injected | None:
        with redis.Redis.from_url(stage.broker_url, socket_timeout=5.0) as client:
            try:
                order(client)
            except (redis.ConnectionError, redis.TimeoutError):
                return None
        return Injected()

    return inject


def _frozen_then_killed(stage: Stage, chance: random.Random) -> Injected | None:
    names = stage.crew.awake("executor", "planner")
    if not names:
        return None
    member = stage.crew.freeze(chance.choice(names))

    def kill() -> None:
        if stage.crew.members.get(member.name) is member:
            stage.kill(member.name)

    return Injected(kill, LISTENING)


FAULTS: Final = (
    Fault("broker killed", _killed),
    Fault("broker emptied", _told(lambda client: client.flushall())),
    Fault("broker's clients killed", _told(lambda c: c.client_kill_filter(_type="normal"))),
    Fault("worker frozen, then killed", _frozen_then_killed),
)
