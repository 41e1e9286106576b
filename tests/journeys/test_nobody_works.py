"""Work that waits while nobody works: frozen workers, and no worker at all."""

import json
import signal
from typing import Any

from tests.journeys.plans import plan, step
from tests.services.ring import Ring, eventually


def findings(ring: Ring) -> list[dict[str, Any]]:
    """What the doctor finds wrong with the work."""
    told = json.loads(ring.replan("doctor", "--format", "min-json", check=None).stdout)
    listed: list[dict[str, Any]] = told["details"]["findings"]
    return [each for each in listed if each["check"] == "work" and not each["ok"]]


def says(ring: Ring, words: str) -> bool:
    return any(words in each["reason"] for each in findings(ring))


def test_doctor_and_show_say_that_jobs_wait_and_nobody_works(ring: Ring) -> None:
    """As when all executors were frozen, and ended when they woke: there is no supervisor."""
    ring.coordinator()
    ring.worker("executor", name="one")
    ring.worker("executor", name="two")
    tasks = [ring.submit(plan(step(["sleep 300"])), "localhost") for _ in range(2)]
    running = "SELECT count(*) = 2 FROM jobs WHERE lease_until > clock_timestamp()"
    eventually(lambda: ring.scalar(running), "both commands running")
    assert findings(ring) == []
    for process in ring.processes.values():
        process.send_signal(signal.SIGSTOP)
    ring.processes["coordinator"].send_signal(signal.SIGCONT)
    eventually(lambda: says(ring, "2 workers are connected: is one of them a free executor?"), "it")
    assert findings(ring)[0]["reason"].startswith("2 jobs on queue execution not taken by any")
    ring.kill("one")
    ring.kill("two")
    eventually(lambda: says(ring, "no worker is connected, so nobody works"), "the doctor's words")
    assert findings(ring)[0]["next_step_cmd"] == "replan worker start executor"
    shown = ring.replan("task", "show", f"T{tasks[0]}").stdout
    assert "no worker is connected, so nobody works" in shown
    assert "replan worker start executor" in shown
    for task in tasks:
        ring.replan("task", "cancel", f"T{task}", check=None)
