"""Remote control: a revoke cancels the run of its job; no other command does anything."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery

from shared.queue.app import JOBS_A_MESSAGE, jobs_of, make_app, message_id
from tests.journeys.plans import plan, step
from tests.services.ring import Ring, eventually


@pytest.fixture
def app(broker_url: str) -> Celery:
    """Celery as somebody else who can reach the broker has it."""
    return make_app(broker_url)


@pytest.fixture
def working(ring: Ring) -> Ring:
    ring.extra.update(REPLAN_LEASE="300")
    ring.coordinator()
    ring.worker("executor")
    return ring


def at_work(ring: Ring, begun: Path, *more: str) -> tuple[int, int]:
    """A task whose command runs: the task's number and its job's."""
    command = f"echo $$ > {begun}; sleep 60"
    task = ring.submit(plan(step([command])), "localhost", *more)
    eventually(lambda: begun.exists() and begun.read_text().strip(), "the command")
    return task, ring.scalar("SELECT min(id) FROM jobs WHERE task_id = :id", id=task)


def listed(ring: Ring, kind: str) -> int:
    return int(ring.scalar("SELECT count(*) FROM events WHERE kind = :kind", kind=kind))


def test_a_message_is_named_after_its_jobs() -> None:
    assert jobs_of(message_id(7)) == (7,)
    assert jobs_of(message_id(7, 8, 10)) == (7, 8, 10)
    assert message_id(7) != message_id(7)
    assert jobs_of("job-7") == (7,)
    assert jobs_of("jobs-7-8") == (7, 8)
    too_many = message_id(*range(1, JOBS_A_MESSAGE + 2))
    wrong = ("", "7", "job-", "job-x", "job-7.", "job-7;", " job-7", "job-" + "9" * 30, "jobs-7-")
    for name in (*wrong, too_many):
        assert jobs_of(name) == ()


def test_the_broker_sees_that_name(ring: Ring, app: Celery) -> None:
    with app.connection_for_write():
        pass
    ring.coordinator()
    ring.submit(plan(step(["true"])), "localhost")
    with redis.Redis.from_url(ring.broker_url) as client:
        eventually(lambda: client.llen("execution"), "the message")
        message = client.lindex("execution", 0)
    assert b'"id": "job-1.' in message


def test_one_message_rings_for_several(ring: Ring) -> None:
    """What waits together is sent together, and all of it is done."""
    ring.coordinator()
    tasks = [ring.submit(plan(step(["true"])), "localhost") for _ in range(12)]
    unrung = "SELECT count(*) FROM jobs WHERE rung_at IS NULL"
    eventually(lambda: ring.scalar("SELECT count(*) FROM jobs") == 12, "the jobs")
    eventually(lambda: not ring.scalar(unrung), "the bell")
    with redis.Redis.from_url(ring.broker_url) as client:
        client.delete("execution")
    ring.scalar("UPDATE jobs SET rung_at = NULL RETURNING id")
    ring.scalar("SELECT pg_notify('replan_jobs', '')")
    eventually(lambda: not ring.scalar(unrung), "the bell once more")
    with redis.Redis.from_url(ring.broker_url) as client:
        assert client.llen("execution") == 2
    ring.worker("executor")
    for task in tasks:
        ring.ends(task)


@pytest.mark.parametrize("options", [{}, {"terminate": True, "signal": "SIGKILL"}])
def test_a_revoke_cancels_the_run(
    working: Ring, app: Celery, tmp_path: Path, options: dict[str, Any]
) -> None:
    begun = tmp_path / "begun"
    task, job = at_work(working, begun)
    app.control.revoke(message_id(job), **options)
    working.ends(task, "cancelled")
    pid = int(begun.read_text().split()[0])
    eventually(lambda: not Path(f"/proc/{pid}").exists(), "the end of the command", 15)
    assert listed(working, "CancelRequested") == 1
    assert working.processes["executor"].poll() is None


def test_a_message_about_several_jobs_cancels_them_all(
    working: Ring, app: Celery, tmp_path: Path
) -> None:
    tasks, jobs = zip(*(at_work(working, tmp_path / name) for name in "ab"), strict=True)
    app.control.revoke(message_id(*jobs))
    for task in tasks:
        working.ends(task, "cancelled")
    assert listed(working, "CancelRequested") == 2


def test_celerys_own_command_line_revokes(working: Ring, tmp_path: Path) -> None:
    task, job = at_work(working, tmp_path / "begun")
    words = ("--broker", working.broker_url, "control", "revoke", f"job-{job}")
    done = subprocess.run(
        [sys.executable, "-m", "celery", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert "its run will be cancelled if it is open" in done.stdout, done.stderr
    working.ends(task, "cancelled")


def test_every_worker_hears_it_and_it_counts_once(
    working: Ring, app: Celery, tmp_path: Path
) -> None:
    for number in range(3):
        working.worker("executor", name=f"more-{number}")
        eventually(
            lambda n=number: "worker_started" in working.log(f"more-{n}"),  # type: ignore[misc]
            "one more worker",
        )
    task, job = at_work(working, tmp_path / "begun")
    eventually(lambda: len(mailboxes(working)) == 4, "four mailboxes")
    app.control.revoke([message_id(job), "job-999999", "no such thing"])
    working.ends(task, "cancelled")
    eventually(lambda: not working.scalar("SELECT count(*) FROM inbox"), "an empty inbox")
    assert listed(working, "CancelRequested") == 1
    assert listed(working, "Defect") == 0


def mailboxes(ring: Ring) -> list[Any]:
    """Who listens to remote control."""
    with redis.Redis.from_url(ring.broker_url) as client:
        return [entry for entry in client.client_list() if int(entry["psub"]) > 0]


def test_a_job_that_has_ended_is_nobodys_to_cancel(
    working: Ring, app: Celery, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    task = working.submit(
        plan(step(["true"]), step([f"echo > {begun}; sleep 2"], ordinal=2, depends_on=(1,))),
        "localhost",
    )
    eventually(begun.exists, "the second step")
    ended = working.scalar("SELECT id FROM jobs WHERE step = 1")
    app.control.revoke(message_id(ended))
    eventually(lambda: '"cancelled": false' in working.log("executor"), "the revoke's arrival")
    working.ends(task)


def test_no_other_command_does_anything(working: Ring, app: Celery, tmp_path: Path) -> None:
    """Not to stop it, nor to change what it does, nor to ask it what it knows."""
    marker, job = at_work(working, tmp_path / "begun")
    worker = working.scalar("SELECT owner FROM jobs WHERE id = :id", id=job).partition("/")[0]
    control = app.control
    control.shutdown()
    control.pool_shrink(100)
    control.pool_grow(100)
    control.pool_restart(reload=True)
    control.autoscale(1, 1)
    control.rate_limit("replan.execution", "1/h")
    control.time_limit("replan.execution", soft=0.1, hard=0.1)
    control.add_consumer("planning")
    control.cancel_consumer("execution")
    control.disable_events()
    ended = {"task_id": message_id(job), "signal": "SIGKILL"}
    control.broadcast("terminate", ended)
    control.broadcast("revoke_by_stamped_headers", {"headers": {"a": ["b"]}, "terminate": True})
    asked = control.inspect(timeout=1.0)
    for question in ("ping", "stats", "conf", "report", "active", "registered", "hello"):
        answers = (
            asked.hello("nobody@nowhere") if question == "hello" else getattr(asked, question)()
        )
        assert not any((answers or {}).values()), question
    # They are taken one after another: when this one has come, so have all before it.
    control.revoke("job-424242")
    eventually(lambda: "424242" in working.log("executor"), "the last command's arrival")
    tasks = [working.submit(plan(step(["true"])), "localhost") for _ in range(6)]
    for task in tasks:
        working.ends(task)
    assert working.phase(marker) == "running"
    assert working.processes["executor"].poll() is None
    with redis.Redis.from_url(working.broker_url) as client:
        assert client.llen("planning") == 0
    assert worker in working.scalar("SELECT owner FROM jobs WHERE id = :id", id=job)
