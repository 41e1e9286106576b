"""The floor of the queue: a Celery worker that does nothing, on the same broker."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import redis
from celery import Celery

COUNTER = "benchmark:ran"
STARTED = "benchmark:started"


def make(broker_url: str) -> Celery:
    """An application with one task that only leaves a trace."""
    app = Celery("noop", broker=broker_url, set_as_current=False)
    app.conf.update(
        task_default_queue="noop",
        task_ignore_result=True,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        broker_connection_retry_on_startup=True,
    )
    store = redis.Redis.from_url(broker_url)

    def noop() -> None:
        store.set(STARTED, repr(time.time()))
        store.incr(COUNTER)

    app.task(noop, name="noop")
    return app


@contextmanager
def worker(broker_url: str) -> Iterator[Celery]:
    """The application with a worker process of 16 threads consuming it."""
    app = make(broker_url)
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.noop"],
        env={**os.environ, "BROKER_URL": broker_url, "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for(app, broker_url, send(app, broker_url, 1))
        yield app
    finally:
        process.terminate()
        process.wait()


def send(app: Celery, broker_url: str, count: int) -> int:
    """Send that many; returns the counter's value once all have run."""
    before = ran(broker_url)
    with app.producer_or_acquire() as producer:
        for _ in range(count):
            app.send_task("noop", queue="noop", producer=producer)
    return before + count


def ran(broker_url: str) -> int:
    """How many have run."""
    with redis.Redis.from_url(broker_url) as store:
        return int(store.get(COUNTER) or 0)


def wait_for(_app: Celery, broker_url: str, count: int) -> None:
    """Until so many have run."""
    deadline = time.monotonic() + 60
    while ran(broker_url) < count:
        if time.monotonic() > deadline:
            raise TimeoutError("the no-op worker does not answer")
        time.sleep(0.002)


def latencies(app: Celery, broker_url: str, count: int) -> list[float]:
    """Seconds from sending to running, one at a time."""
    spans = []
    for _ in range(count):
        begun = time.time()
        wait_for(app, broker_url, send(app, broker_url, 1))
        with redis.Redis.from_url(broker_url) as store:
            spans.append(float(store.get(STARTED) or 0) - begun)
    return spans


if __name__ == "__main__":
    make(os.environ["BROKER_URL"]).Worker(
        pool="threads",
        concurrency=16,
        queues=["noop"],
        loglevel="ERROR",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
    ).start()
