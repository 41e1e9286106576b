"""`replan status`, `replan worker list`, and what `replan doctor` says of whoever serves."""

import os
import socket
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from orchestrator.doctor import LEAST_ROOM, Machine, examine
from orchestrator.views import processes
from shared.domain.facts import JobFailed
from shared.domain.jobs import JobKind, QueueName
from shared.domain.process_name import COORDINATOR
from shared.queue.app import CeleryBell, make_app
from shared.settings import load_settings
from shared.store import jobs
from tests.integration.cli.calling import Cli
from tests.integration.cli.test_hosts import reaching
from tests.services.presences import attended, connected
from tests.services.ring import eventually
from tests.services.scripted_worker import ScriptedWorker
from tests.services.sshd import SshServer

PLAN = "steps:\n  - {title: s, subtasks: [{run: 'true'}]}\n"
JOBS = "SELECT id FROM jobs WHERE queue = 'execution' AND state = 'open'"


@pytest.fixture(autouse=True)
def _broker(
    bare: Path,  # noqa: ARG001 - it empties the environment first
    broker_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REPLAN_BROKER_URL", broker_url)


def wrong(cli: Cli, *options: str) -> dict[str, list[dict[str, Any]]]:
    """What the doctor finds wrong, by check; every finding has a next command."""
    listed = cli.json("doctor", "--no-runners", *options, code=1)["details"]["findings"]
    found: dict[str, list[dict[str, Any]]] = {}
    for each in listed:
        if not each["ok"]:
            assert each["next_step_cmd"], each
            found.setdefault(each["check"], []).append(each)
    return found


def told(findings: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["reason"], each["next_step_cmd"]) for each in findings]


def test_status_says_what_is_tried_again_later_and_why(coordinated: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    ref = coordinated.json("task", "submit", "--plan", plan, "--local")["details"]["ref"]
    worker = ScriptedWorker(coordinated.database)
    gone = JobFailed(JobKind.EXECUTE, 1, 0, 1, family="transient", stage="connect", reason="cut")
    assert worker.reports(worker.takes(), gone)
    eventually(lambda: coordinated.rows("SELECT 1 FROM jobs WHERE postponed = 1"), "the next try")
    (put_off,) = coordinated.json("status")["details"]["put_off"]
    assert (put_off["ref"], put_off["reason"]) == (f"{ref}.1@localhost", "cut")
    told = " ".join(coordinated("status").out.split())
    assert f"{ref}.1@localhost execute is postponed until " in told
    assert "(tried 1 time): cut" in told
    assert f"next: replan attempt run {ref}.1@localhost" in told


@pytest.fixture
def waiting(coordinated: Cli, tmp_path: Path) -> int:
    """The number of a job that has waited for an executor for a minute."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    coordinated.json("task", "submit", "--plan", plan, "--local")
    (job,) = eventually(lambda: coordinated.rows(JOBS), "the job")
    coordinated.rows("UPDATE jobs SET due_at = clock_timestamp() - interval '61 s' RETURNING id")
    return int(job.id)


def test_nobody_at_all_is_there(cli: Cli) -> None:
    assert told(wrong(cli)["processes"]) == [
        (
            "no coordinator is running: nothing is decided, and no work is handed out",
            "replan coordinator start",
        ),
        ("no worker is running: nobody works", "replan worker start all"),
    ]
    screen = cli("status").out
    assert screen.startswith("replan is not running; tasks: none at work\n")
    assert "next: replan coordinator start" in screen
    assert cli("worker", "list").out.startswith("no coordinator and no worker is connected\n")


def test_replan_that_is_not_running_says_how_it_is_started(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPLAN_DATABASE_URL")
    for verb in (("status",), ("worker", "list")):
        refused = cli.json(*verb, code=2)
        assert refused["reason"].startswith("replan is not running: ")
        assert refused["next_step_cmd"] == "replan up"
    (first, *_) = wrong(cli)["database"]
    assert first["reason"].startswith("replan is not running: ")
    assert first["next_step_cmd"] == "replan up"


def test_a_broker_that_is_away_hides_only_its_messages(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAN_BROKER_URL", "redis://127.0.0.1:1/0")
    with attended(cli.database):
        details = cli.json("status")["details"]
        assert "✗ broker: " in cli("status").out
    assert details["running"]
    assert details["broker"]
    assert {line["messages"] for line in details["queues"]} == {None}


def test_all_is_well(cli: Cli) -> None:
    with attended(cli.database):
        details = cli.json("status")["details"]
        assert all(line["workers"] == 1 for line in details["queues"])
        listed = cli.json("worker", "list")["details"]
        assert cli("doctor", "--no-runners").code == 0
        screen = cli("status").out
    assert [each["roles"] for each in listed["coordinators"]] == [["coordinator"]]
    (worker,) = listed["workers"]
    assert (worker["roles"], worker["host"], worker["presence"]) == (["all"], "web-1", "connected")
    assert worker["since"]
    assert worker["heard_at"]
    assert screen.startswith("replan is running; ")
    assert "✗" not in screen
    assert "nothing waits for you" in screen


def test_each_queue_that_nobody_serves_is_named_but_that_of_what_is_not_wanted(cli: Cli) -> None:
    """As where the workers of one role were forgotten: the first failure would wait for ever."""
    with connected(cli.database, COORDINATOR), connected(cli.database, "executor", "planner"):
        assert told(wrong(cli)["processes"]) == [
            (
                f"no {role} is running: nobody serves queue {role_queue}",
                f"replan worker start {role}",
            )
            for role, role_queue in (
                ("subtask_planner", "subtask_planning"),
                ("escalation", "escalation"),
            )
        ]


def test_old_jobs_and_messages_on_a_queue_with_nobody(
    coordinated: Cli, waiting: int, broker_url: str
) -> None:
    with closing(make_app(broker_url)) as app:
        for _ in range(59):
            CeleryBell(app).ring(QueueName.EXECUTION, [waiting])
    with (
        connected(coordinated.database, COORDINATOR),
        connected(coordinated.database, "escalation"),
    ):
        found = wrong(coordinated)
        details = coordinated.json("status")["details"]
        screen = coordinated("status").out
    (executor,) = [e for e in found["processes"] if "no executor" in e["reason"]]
    assert executor["reason"].startswith(
        "no executor is running: nobody serves queue execution, where 1 job waited, "
        "the oldest for 6"
    )
    assert executor["reason"].endswith("; unread messages: 59")
    assert executor["next_step_cmd"] == "replan worker start executor"
    assert "1 job on queue execution not taken by any executor" in found["work"][0]["reason"]
    (line,) = [each for each in details["queues"] if each["queue"] == "execution"]
    assert (line["workers"], line["waiting"], line["messages"]) == (0, 1, 59)
    assert line["oldest"] > 60
    assert executor["reason"].partition(", the oldest")[0] in screen
    assert details["running"]
    assert "replan worker start executor" in {e["next_step_cmd"] for e in details["troubles"]}


def test_what_each_worker_does(coordinated: Cli, waiting: int) -> None:
    """One is at work, one is gone with a job and nobody has noticed, one cannot show itself."""

    def held(presence: int | None, owner: str) -> dict[str, Any]:
        with coordinated.database.begin() as connection:
            jobs.claim(connection, [waiting], owner, 600.0, again=True, presence=presence)
        found: list[dict[str, Any]] = coordinated.json("worker", "list")["details"]["workers"]
        coordinated.rows("UPDATE jobs SET lease_until = NULL, owner = NULL RETURNING id")
        (line,) = [each for each in found if each["work"]]
        return line

    with connected(coordinated.database, "executor") as number:
        present = held(number, "executor.7@web-2/a.b")
    assert (present["presence"], present["name"]) == ("connected", f"{number}@web-1")
    assert [(w["ref"], w["work"]) for w in present["work"]] == [("T1.1@localhost", "execute")]
    gone = held(7, "executor.7@web-2/a.b")
    assert (gone["presence"], gone["name"], gone["queues"]) == ("gone", "7@web-2", ["execution"])
    assert held(None, "executor.7@web-2/a.b")["presence"] == "hidden"


def test_a_frozen_worker_and_one_of_another_version(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with attended(cli.database), connected(cli.database, "executor", replan="0.0.9") as number:
        (other,) = wrong(cli)["processes"]
        assert other["reason"].startswith(f"executor {number}@web-1 is of version 0.0.9, this ")
        monkeypatch.setattr(processes, "SILENCE", -1.0)
        silent = wrong(cli)["processes"]
    assert any("it or its machine stands still" in each["reason"] for each in silent)
    assert silent[0]["next_step_cmd"] == "replan coordinator start"


def test_a_host_whose_ssh_server_is_down_is_found_by_a_log_in(cli: Cli, sshd: SshServer) -> None:
    cli.json("host", "add", "here", "--local", "--no-check")
    cli.json("host", "add", "web1", *reaching(sshd))
    with attended(cli.database), socket.socket() as own:
        logged_in = cli.json("doctor", "--no-runners", "--hosts")["details"]["findings"]
        assert [each["check"] for each in logged_in[-2:]] == ["host here", "host web1"]
        own.bind(("127.0.0.1", 0))  # and nothing listens there
        cli.rows("UPDATE hosts SET port = :port RETURNING 1", port=own.getsockname()[1])
        assert cli("doctor", "--no-runners").code == 0
        found = wrong(cli, "--hosts")
    assert list(found) == ["host web1"]
    assert "nothing listens on that port" in found["host web1"][0]["reason"]


@pytest.mark.usefixtures("cli")
@pytest.mark.parametrize("apart", [-90.0, 90.0])
def test_a_clock_that_is_off(apart: float) -> None:
    server = load_settings(os.environ).server
    machine = Machine(now=lambda: time.time() - apart)
    (clock,) = [each for each in examine(server, machine) if each.check == "clock"]
    assert not clock.ok
    how = "ahead of" if apart > 0 else "behind"
    assert clock.reason == f"the database's clock is 90 s {how} this machine's"


def test_a_disk_that_is_almost_full(cli: Cli) -> None:
    """Of the database's own folder, which is on this machine."""
    (folder,) = cli.rows("SELECT current_setting('data_directory') AS path")
    full = Machine(room=lambda at: 12_000_000 if at == folder.path else LEAST_ROOM)
    (disk,) = [
        each for each in examine(load_settings(os.environ).server, full) if each.check == "disk"
    ]
    assert not disk.ok
    told = f"the disk of the database is almost full: 12 MB are free in {folder.path}"
    assert disk.reason == told
