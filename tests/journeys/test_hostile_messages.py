"""Messages that nobody of us sent: a worker drops them, and goes on with what it is for."""

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pytest
import redis

from shared.domain.jobs import QueueName
from tests.chaos.faults_hostile import FORGERIES, asking, envelope
from tests.journeys.plans import plan, step
from tests.services.databases import execute, of_database
from tests.services.ring import Ring, eventually

QUEUE = "execution"


def push(ring: Ring, queue: str, *messages: bytes) -> None:
    """Put messages where a worker will find them."""
    with redis.Redis.from_url(ring.broker_url) as client:
        client.lpush(queue, *messages)


def empty(ring: Ring, queue: str) -> bool:
    """Whether a worker has taken all of them."""
    with redis.Redis.from_url(ring.broker_url) as client:
        return bool(client.llen(queue) == 0)


def test_no_forged_message_stops_a_worker(ring: Ring) -> None:
    """One of each kind, and each time the next one is still taken."""
    ring.worker("executor")
    for kind, forge in enumerate(FORGERIES):
        message = forge(QUEUE, random.Random(kind), [])  # noqa: S311 - chance, no secret
        push(ring, QUEUE, message)
        push(ring, QUEUE, asking(QUEUE, 10**9 + kind))
        eventually(lambda: empty(ring, QUEUE), f"what follows {message!r} being taken", 30)
        assert ring.processes["executor"].poll() is None, message
    ring.coordinator()
    task = ring.submit(plan(step(["true"])), "localhost")
    ring.ends(task)
    assert "Unrecoverable" not in ring.log("executor")


def test_a_worker_takes_no_job_of_another_queue(ring: Ring) -> None:
    """Its number in a message makes it nobody's who does not serve its queue."""
    ring.worker("planner")
    ring.coordinator()
    task = ring.submit(plan(step(["true"])), "localhost")
    job = eventually(
        lambda: ring.scalar("SELECT id FROM jobs WHERE queue = 'execution'"), "the job"
    )
    push(ring, "planning", asking("planning", job))
    eventually(lambda: empty(ring, "planning"), "the message being taken")
    eventually(lambda: "nothing to do" in ring.log("planner"), "the message being answered")
    assert ring.scalar("SELECT claims FROM jobs WHERE id = :id", id=job) == 0
    ring.worker("executor")
    ring.ends(task)


def changed(**parts: object) -> bytes:
    """A message like ours, some parts of which are something else; None: they are not there."""
    message = json.loads(asking(QUEUE, 10**9))
    for name, value in parts.items():
        place, _, inner = name.replace("_", "-").partition("--")
        where = message[place] if inner else message
        key = inner.replace("-", "_") if inner else place
        if value is None:
            where.pop(key, None)
        else:
            where[key] = value
    return json.dumps(message).encode()


ODD: Final[tuple[object, ...]] = (None, 7, "text", [], [1], {}, {"a": 1}, True)
GARBAGE: Final = {
    "nothing": b"",
    "not JSON": b"{]",
    "seven letters": b"garbage",
    "not UTF-8": b"\xff\xfe\x00",
    "too deep": b"[" * 200_000,
    "a number": b"7",
    "null": b"null",
    "a text": b'"text"',
    "endless number": b"9" * 10_000,
    "huge": json.dumps({"body": "x" * 5_000_000}).encode(),
    "huge body": changed(body="eA==" * 1_000_000),
    "pickled": changed(content_type="application/x-python-serialize"),
    "another charset": changed(content_encoding="no-such-charset"),
    "rubbish in base64": changed(body="$$$"),
    "half of base64": changed(body="abc"),
    "body not UTF-8": changed(body="//79"),
    "unknown encoding": changed(properties__body_encoding="rot13"),
    "a list as encoding": changed(properties__body_encoding=[1]),
    "compressed": changed(headers__compression="application/x-gzip"),
    "no id": changed(headers__id=None),
    "a list as task": changed(headers__task=["x"]),
    "the first protocol": json.dumps(
        {"task": ["x"], "id": 1, "args": 7, "properties": {"delivery_tag": "1"}}
    ).encode(),
    **{f"body {odd!r}": changed(body=odd) for odd in ODD},
    **{f"headers {odd!r}": changed(headers=odd) for odd in ODD},
    **{f"properties {odd!r}": changed(properties=odd) for odd in ODD},
    **{f"type {odd!r}": changed(content_type=odd) for odd in ODD},
    **{f"tag {odd!r}": changed(properties__delivery_tag=odd) for odd in ODD},
    **{f"delivery {odd!r}": changed(properties__delivery_info=odd) for odd in ODD},
    **{
        f"{name} {odd!r}": changed(**{f"headers__{name}": odd})
        for name in ("eta", "expires", "timelimit", "stamped_headers", "shadow", "retries", "group")
        for odd in ODD
    },
    **{
        f"reply {odd!r}": changed(properties__reply_to=odd, properties__priority=odd) for odd in ODD
    },
    "args no list": envelope(QUEUE, "replan.execution", [{"a": 1}, [], []]),
}
"""Entries of a queue that end whoever unpacks them without a look."""

CONTROL: Final = {
    "not JSON": b"{]",
    "not UTF-8": b"\xff\xfe",
    "too deep": b"[" * 200_000,
    "a number": b"7",
    "a text": b'"text"',
    "empty object": b"{}",
    "headers": changed(headers=[1]),
    "clock": changed(headers={"clock": "x", "expires": "y"}),
    "no command": changed(),
    "another type": changed(content_type="application/x-python-serialize"),
    "shutdown": envelope("celery.pidbox", "x", {"method": "shutdown", "arguments": {}}),
    "arguments": envelope("celery.pidbox", "x", {"method": "revoke", "arguments": [1, 2]}),
    "a list as method": envelope("celery.pidbox", "x", {"method": [1], "arguments": {}}),
    "destination": envelope("celery.pidbox", "x", {"method": "revoke", "destination": 7}),
    "reply": envelope("celery.pidbox", "x", {"method": "revoke", "reply_to": 7, "ticket": []}),
}
"""What may come on the control channel of workers."""


@pytest.fixture(scope="module")
def shared_ring(
    postgres_url: str,
    migrated_template: str,
    valkey_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ring]:
    """A ring that many tests share: none of them is to change anything for the next."""
    execute(postgres_url, "CREATE DATABASE test_hostile TEMPLATE {}", migrated_template)
    with redis.Redis.from_url(valkey_url) as client:
        client.flushall()
    ring = Ring(
        of_database(postgres_url, "test_hostile"), valkey_url, tmp_path_factory.mktemp("ring")
    )
    yield ring
    ring.stop()
    execute(postgres_url, "DROP DATABASE IF EXISTS test_hostile WITH (FORCE)")


@pytest.fixture(scope="module")
def worker(shared_ring: Ring) -> Iterator[Callable[[], None]]:
    """A worker of all roles; to call it fails unless it is still the same one, and works."""
    ring = shared_ring
    ring.worker("all", name="worker")
    ring.coordinator()
    task = ring.submit(plan(step(["true"])), "localhost")
    ring.ends(task)
    process = ring.processes["worker"]
    asked = iter(range(10**9, 2 * 10**9))

    def works() -> None:
        for queue in QueueName:
            push(ring, queue.value, asking(queue.value, next(asked)))
        for queue in QueueName:
            eventually(partial(empty, ring, queue.value), f"{queue} being read", 30)
        assert process.poll() is None
        assert ring.processes["worker"] is process

    yield works
    task = ring.submit(plan(step(["true"])), "localhost")
    ring.ends(task)
    assert "Unrecoverable" not in ring.log("worker")


@pytest.mark.parametrize("message", GARBAGE.values(), ids=GARBAGE)
def test_garbage_on_a_queue_is_dropped(
    shared_ring: Ring, worker: Callable[[], None], message: bytes
) -> None:
    """On every one, and the worker that drops it is the one that goes on."""
    for queue in QueueName:
        push(shared_ring, queue.value, message)
    worker()


def test_garbage_of_lower_priority_is_dropped(
    shared_ring: Ring, worker: Callable[[], None]
) -> None:
    """A queue has further keys, which a message may name by its priority."""
    for priority in (3, 6, 9):
        push(shared_ring, f"{QUEUE}\x06\x16{priority}", b"{]", b"{}")
    worker()
    for priority in (3, 6, 9):
        eventually(partial(empty, shared_ring, f"{QUEUE}\x06\x16{priority}"), "reading")


@pytest.mark.parametrize("make", ["set", "hset", "sadd", "zadd", "xadd"])
def test_a_queue_of_another_type_is_removed(
    shared_ring: Ring, worker: Callable[[], None], make: str
) -> None:
    """Nothing of ours can be in it."""
    values: dict[str, tuple[Any, ...]] = {
        "set": ("x",),
        "hset": ("a", "b"),
        "sadd": ("x",),
        "zadd": ({"x": 1},),
        "xadd": ({"x": 1},),
    }
    with redis.Redis.from_url(shared_ring.broker_url) as client:
        getattr(client, make)(QUEUE, *values[make])
        eventually(lambda: client.type(QUEUE) in (b"none", b"list"), "its removal", 30)
    worker()


@pytest.mark.parametrize("message", CONTROL.values(), ids=CONTROL)
def test_garbage_on_the_control_channel_is_dropped(
    shared_ring: Ring, worker: Callable[[], None], message: bytes
) -> None:
    """And what can be read there stops no worker."""
    with redis.Redis.from_url(shared_ring.broker_url) as client:
        assert client.publish("/0.celery.pidbox", message) == 1
    worker()


def test_what_is_dropped_is_logged_once(shared_ring: Ring, worker: Callable[[], None]) -> None:
    """With its queue and its beginning."""
    push(shared_ring, QUEUE, b'["what is logged once"]')
    worker()
    eventually(lambda: "what is logged once" in shared_ring.log("worker"), "the line")
    assert shared_ring.log("worker").count("what is logged once") == 1
