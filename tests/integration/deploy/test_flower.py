"""Flower as it is deployed, over a real broker: it shows the queues to whoever has the password."""

import json
import os
import subprocess
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.embedded import port
from orchestrator.process_command import process_command
from shared.domain.jobs import QueueName
from shared.queue.app import CeleryBell, make_app, task_name
from tests.services.ring import Ring, eventually

NAME, PASSWORD = "watcher", "only-a-test"


@dataclass(frozen=True)
class Flower:
    """A running Flower."""

    url: str

    def get(
        self, path: str, password: str | None = PASSWORD, method: str = "GET"
    ) -> tuple[int, str]:
        """The status and the body of an answer; status 0 while nobody answers."""
        request = urllib.request.Request(self.url + path, method=method)  # noqa: S310 - loopback
        if password is not None:
            credentials = b64encode(f"{NAME}:{password}".encode()).decode()
            request.add_header("Authorization", f"Basic {credentials}")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def tasks(self) -> list[dict[str, Any]]:
        """The jobs that it lists."""
        return list(json.loads(self.get("/api/tasks")[1] or "{}").values())


def command(root: Path, compose: dict[str, Any]) -> list[str]:
    """The command of the compose file, with this machine's paths."""
    service = compose["services"]["flower"]
    words = [*service["entrypoint"], *service["command"]]
    assert words[:5] == ["/opt/replan/bin/python", "-m", "replan", "-m", "celery"]
    options = str(root / "deploy/flower")
    more = (word.replace("/opt/replan/flower", options) for word in words[5:])
    return list(process_command("celery", *more))


def environ(root: Path, broker_url: str, **more: str) -> dict[str, str]:
    """The environment of the service, on this machine's broker."""
    path = str(root / "deploy/flower")
    return {**os.environ, "PYTHONPATH": path, "REPLAN_BROKER_URL": broker_url, **more}


@pytest.fixture
def flower(
    root: Path, compose: dict[str, Any], broker_url: str, tmp_path: Path
) -> Iterator[Flower]:
    """Flower with the deployment's own options."""
    number = port.any_free()
    with (tmp_path / "flower.log").open("wb") as log:
        process = subprocess.Popen(
            [*command(root, compose), "--address=127.0.0.1", f"--port={number}"],
            env=environ(root, broker_url, FLOWER_BASIC_AUTH=f"{NAME}:{PASSWORD}"),
            stdout=log,
            stderr=log,
            cwd=tmp_path,
        )
    running = Flower(f"http://127.0.0.1:{number}")
    try:
        eventually(lambda: running.get("/healthcheck", None)[0] == 200, "Flower")
        yield running
    finally:
        process.terminate()
        process.wait(10)


def test_nobody_looks_without_the_password(flower: Flower) -> None:
    shown = ("/", "/tasks", "/worker/executor", "/broker", "/api/tasks", "/api/workers", "/metrics")
    for path in shown:
        assert flower.get(path, None)[0] == 401, path
        assert flower.get(path, "wrong")[0] == 401, path
        assert flower.get(path)[0] == 200, path
    assert flower.get("/healthcheck", None) == (200, "OK")


def test_it_does_not_start_without_a_password(
    root: Path, compose: dict[str, Any], broker_url: str, tmp_path: Path
) -> None:
    """Flower itself would let everybody in."""
    done = subprocess.run(
        command(root, compose),
        env=environ(root, broker_url, FLOWER_BASIC_AUTH="replan:"),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode != 0
    assert "FLOWER_BASIC_AUTH" in done.stderr


def test_it_lists_the_queues_of_the_product(flower: Flower) -> None:
    status, page = flower.get("/broker")
    assert status == 200
    for queue in QueueName:
        assert f'id="{queue.value}"' in page


def test_it_only_looks(flower: Flower, broker_url: str) -> None:
    """Nothing can be sent, changed or stopped through it."""
    name = task_name(QueueName.EXECUTION.value)
    for path in (f"/api/task/send-task/{name}", "/api/worker/shutdown/x", "/api/task/revoke/1"):
        assert flower.get(path, method="POST")[0] in {403, 405}, path
    assert CeleryBell(make_app(broker_url)).ringing(QueueName.EXECUTION.value) == 0


PLAN = """
steps:
  - title: Greet
    subtasks: [{run: "echo hello"}]
  - title: Fail
    subtasks: [{run: "cat /nowhere/at/all"}]
"""


def test_it_lists_workers_and_their_jobs(flower: Flower, ring: Ring, tmp_path: Path) -> None:
    """D.9: from the workers' events alone, for they answer no question; by the names of verbs."""
    ring.coordinator()
    ring.worker("executor", "escalation")

    def workers() -> list[dict[str, Any]]:
        return list(json.loads(flower.get("/workers?json=1")[1] or '{"data": []}')["data"])

    eventually(lambda: [each for each in workers() if each["status"]], "a worker online")
    CeleryBell(make_app(ring.broker_url)).ring(QueueName.EXECUTION.value, [7])
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    limits = ("--set=max_retry_count=1", "--set=auto_correction_enabled=false")
    ring.replan("task", "submit", "--plan", str(plan), "--local", *limits)
    task = int(ring.scalar("SELECT max(id) FROM tasks"))
    ring.ends(task, "waiting")

    def ended() -> list[dict[str, Any]]:
        return [each for each in flower.tasks() if each.get("state") in {"SUCCESS", "FAILURE"}]

    eventually(lambda: len(ended()) >= 3, "the ends of the jobs")
    (worker,) = workers()
    shown = {(each["name"], each["args"]): each for each in ended()}
    greeting = shown["replan.execute", f"T{task}.1@localhost"]
    failing = shown["replan.execute", f"T{task}.2@localhost"]
    assert (greeting["state"], greeting["result"]) == ("SUCCESS", "done")
    assert failing["state"] == "FAILURE"
    assert failing["exception"].startswith(f"incomplete: not done: T{task}.2.1")
    assert worker["task-succeeded"] >= 1
    assert worker["task-failed"] >= 1
    assert {each["worker"] for each in ended()} == {worker["hostname"]}
    status, page = flower.get(f"/worker/{worker['hostname']}")
    assert status == 200
    assert 'id="tasks-table"' in page
