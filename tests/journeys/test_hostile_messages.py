"""Messages that nobody of us sent: a worker drops them, and goes on with what it is for."""

import random

import redis

from tests.chaos.faults_hostile import FORGED, asking
from tests.journeys.plans import plan, step
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
    for kind, forge in enumerate(FORGED):
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
