"""Messages that nobody of us sent: forged, replayed, and one job's bell rung twice at once."""

import base64
import json
import random
from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

import redis

from shared.domain.jobs import QueueName
from shared.queue.app import task_name
from tests.chaos.faults import Fault, Injected
from tests.chaos.stage import Stage

QUEUES: Final = [queue.value for queue in QueueName]


def envelope(queue: str, task: str, body: object, **headers: object) -> bytes:
    """A message as Celery writes it, with anything in it."""
    packed = base64.b64encode(json.dumps(body).encode()).decode()
    number = str(uuid4())
    message = {
        "body": packed,
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"lang": "py", "task": task, "id": number, "root_id": number, **headers},
        "properties": {
            "correlation_id": number,
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": queue},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": str(uuid4()),
        },
    }
    return json.dumps(message).encode()


def asking(queue: str, *arguments: object, task: str | None = None, **more: object) -> bytes:
    """A message that asks a worker of that queue to do something."""
    return envelope(queue, task or task_name(queue), [list(arguments), more, {}])


Forge = Callable[[str, random.Random, list[int]], bytes]
"""Makes a message for a queue; it may use the ids of jobs that are not that queue's."""

FORGED: Final[tuple[Forge, ...]] = (
    lambda queue, chance, _: asking(queue, chance.randrange(10**6, 10**9)),
    lambda queue, chance, foreign: asking(queue, chance.choice(foreign or [0])),
    lambda queue, chance, foreign: asking(queue, chance.choice(foreign or [0])),
    lambda queue, chance, _: asking(queue, -chance.randrange(1, 1000)),
    lambda queue, _, __: asking(queue, 10**30),
    lambda queue, _, __: asking(queue, "1; DROP TABLE jobs"),
    lambda queue, _, __: asking(queue, None),
    lambda queue, _, __: asking(queue, {"id": 1}),
    lambda queue, _, __: asking(queue),
    lambda queue, _, __: asking(queue, 1, 2, 3),
    lambda queue, _, __: asking(queue, 1, command="touch /tmp/forged"),
    lambda queue, _, __: asking(queue, 1, task="celery.map"),
    lambda queue, _, __: asking(queue, 1, task="no.such.task"),
    lambda queue, _, __: asking(queue, 1, task="os.system"),
    lambda queue, _, __: envelope(queue, task_name(queue), {"not": "a list"}),
    lambda queue, _, __: envelope(queue, task_name(queue), "text"),
    lambda queue, _, __: envelope(queue, task_name(queue), [[1], {}, {}], eta="never"),
    lambda queue, _, __: asking(queue, 1).replace(b"application/json", b"application/x-python"),
    lambda queue, _, __: envelope(queue, task_name(queue), [[1], {}, {"chain": [{"task": "x"}]}]),
)
"""Messages that can be read; foreign jobs twice, because those could really be carried out."""

GARBAGE: Final[tuple[Forge, ...]] = (
    lambda _, __, ___: b"{}",
    lambda _, __, ___: b"[]",
    lambda _, __, ___: b"\x00\xff no JSON at all",
)
"""What the library under the worker cannot read, and what would end it if it tried."""

FORGERIES: Final = FORGED + GARBAGE


FOREIGN: Final = """
    SELECT id FROM jobs WHERE queue <> :queue
    ORDER BY state = 'open' DESC, lease_until IS NULL DESC, id DESC LIMIT 3
"""
"""Jobs of other queues; first those that wait for somebody to take them."""


class Forger:
    """Forges one kind after another, onto one queue after another."""

    def __init__(self) -> None:
        self._next = 0

    def __call__(self, stage: Stage, chance: random.Random) -> Injected | None:
        """Put the next message where a worker will find it."""
        number, self._next = self._next, self._next + 1
        queue = QUEUES[number % len(QUEUES)]
        forge = FORGERIES[number % len(FORGERIES)]
        message = forge(queue, chance, [row.id for row in stage.rows.soon(FOREIGN, queue=queue)])
        return _sent(stage, queue, message)


def _replayed(stage: Stage, chance: random.Random) -> Injected | None:
    jobs = stage.rows.soon("SELECT id, queue FROM jobs ORDER BY random() LIMIT 1")
    return _rung(stage, jobs, chance.randint(1, 3))


def _twins(stage: Stage, _chance: random.Random) -> Injected | None:
    jobs = stage.rows.soon(
        "SELECT id, queue FROM jobs WHERE state = 'open' AND queue = 'execution'"
        " AND due_at <= clock_timestamp() ORDER BY id DESC LIMIT 1"
    )
    return _rung(stage, jobs, 2)


def _rung(stage: Stage, jobs: Any, times: int) -> Injected | None:
    if not jobs:
        return None
    messages = [asking(jobs[0].queue, jobs[0].id) for _ in range(times)]
    return _sent(stage, jobs[0].queue, *messages)


def _sent(stage: Stage, queue: str, *messages: bytes) -> Injected | None:
    try:
        with redis.Redis.from_url(stage.broker_url, socket_timeout=5.0) as client:
            client.lpush(queue, *messages)
    except (redis.ConnectionError, redis.TimeoutError):
        return None
    return Injected()


FAULTS: Final = (
    Fault("message forged", Forger()),
    Fault("message replayed", _replayed),
    Fault("job sent to two workers", _twins),
)
