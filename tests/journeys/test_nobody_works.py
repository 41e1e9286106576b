"""Work that waits while nobody works: frozen workers, and no worker at all."""

import json
import signal
import time
from pathlib import Path
from typing import Any

from tests.journeys.plans import plan, step
from tests.services.ring import Ring, eventually

NAMES = """
    SELECT DISTINCT application_name AS name FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
      AND application_name <> current_setting('application_name')
"""


def findings(ring: Ring) -> list[dict[str, Any]]:
    """What the doctor finds wrong with the work."""
    told = json.loads(ring.replan("doctor", "--format", "min-json", check=None).stdout)
    listed: list[dict[str, Any]] = told["details"]["findings"]
    return [each for each in listed if each["check"] == "work" and not each["ok"]]


def serving(ring: Ring) -> list[tuple[str, str, tuple[str, ...]]]:
    """Who serves, by role, with what each has in hand."""
    told = json.loads(ring.replan("worker", "list", "--format", "min-json").stdout)["details"]
    return sorted(
        (each["roles"][0], each["presence"], tuple(work["ref"] for work in each["work"]))
        for each in (*told["coordinators"], *told["workers"])
    )


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
    served = serving(ring)
    assert [(role, presence) for role, presence, _ in served] == [
        ("coordinator", "connected"),
        *[("executor", "connected")] * 2,
    ]
    at_work = sorted(ref for _, _, refs in served for ref in refs)
    assert at_work == [f"T{task}.1@localhost" for task in tasks]
    names = [row.name for row in ring.rows(NAMES)]
    assert len(names) == 3
    assert all(name.startswith("replan ") for name in names), names
    for process in ring.processes.values():
        process.send_signal(signal.SIGSTOP)
    ring.processes["coordinator"].send_signal(signal.SIGCONT)
    eventually(lambda: says(ring, "2 workers are connected: is one of them a free executor?"), "it")
    assert findings(ring)[0]["reason"].startswith("2 jobs on queue execution not taken by any")
    ring.kill("one")
    ring.kill("two")
    eventually(lambda: says(ring, "no worker is connected, so nobody works"), "the doctor's words")
    assert findings(ring)[0]["next_step_cmd"] == "replan worker start executor"
    assert [each[:2] for each in serving(ring)] == [("coordinator", "connected")]
    shown = ring.replan("task", "show", f"T{tasks[0]}").stdout
    assert "no worker is connected, so nobody works" in shown
    assert "replan worker start executor" in shown
    for task in tasks:
        ring.replan("task", "cancel", f"T{task}", check=None)


def test_executors_frozen_for_too_long_go_on_or_end_to_be_started_again(
    ring: Ring, tmp_path: Path
) -> None:
    """With 75 and never with 0, after which no supervisor would; the work goes on where it was."""
    liveness, ledger, names = 3.0, tmp_path / "ledger", ("one", "two")
    ring.extra.update(REPLAN_LIVENESS=str(liveness), REPLAN_POLL="0.5")
    ring.coordinator()
    for name in names:
        ring.worker("executor", name=name)
    commands = [f"echo {n} >>{ledger}; sleep 0.5" for n in range(12)]
    task = ring.submit(plan(step(commands)), "localhost")
    eventually(ledger.exists, "the first command")
    for name in names:
        ring.processes[name].send_signal(signal.SIGSTOP)
    woken = time.monotonic() + 2 * liveness
    eventually(lambda: time.monotonic() > woken, "a long time")
    for name in names:
        ring.processes[name].send_signal(signal.SIGCONT)

    def done() -> bool:
        for name in names:
            code = ring.processes[name].poll()
            if code is not None:
                assert code == 75, ring.log(name)
                ring.worker("executor", name=name)
        return ring.phase(task) == "done"

    eventually(done, "the end of the task")
    assert ledger.read_text().split() == [str(n) for n in range(12)]
