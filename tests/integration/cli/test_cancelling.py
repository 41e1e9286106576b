"""Cancelling on the command line: one command or everything, and the proof that it has ended."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.acts import attempts
from orchestrator.acts.post import post
from orchestrator.core.cleanup_rules import CLEANUP_TRIES
from shared.domain.budget import Ending
from shared.domain.facts import CommandLeftRunning, Fact, JobFailed
from shared.domain.jobs import Job, JobKind
from shared.domain.outcome import Outcome
from shared.store import inbox
from tests.integration.cli.calling import Cli
from tests.services.ring import eventually
from tests.services.scripted_worker import ScriptedWorker

PLAN = "steps:\n  - title: s\n    subtasks:\n      - {run: sleep 60}\n"
HOW = "ended by KILL after 2 s; left over: 4711 (sleep), 4712 (sh)"
LEFT = ("4711 (sleep),", "4712 (sh)")


@pytest.fixture
def worker(coordinated: Cli) -> ScriptedWorker:
    return ScriptedWorker(coordinated.database)


@pytest.fixture
def ref(coordinated: Cli, tmp_path: Path) -> str:
    """A task of one command."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    answer = coordinated.json("task", "submit", "--plan", plan, "--local")
    return str(answer["details"]["ref"])


@contextmanager
def meanwhile(act: Callable[[], object]) -> Iterator[None]:
    """Something happens beside what the test does."""
    thread = threading.Thread(target=act)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def is_withdrawn(cli: Cli, job: Job) -> bool:
    return bool(cli.rows("SELECT 1 FROM jobs WHERE id = :id AND state = 'cancelled'", id=job.id))


def test_a_worker_says_how_the_command_was_ended(
    coordinated: Cli, worker: ScriptedWorker, ref: str
) -> None:
    job = worker.takes()
    attempt = worker.begins(job, "sleep 60")

    def obey() -> None:
        eventually(lambda: is_withdrawn(coordinated, job), "the cancellation")
        worker.ends(job, attempt, Outcome.CANCELLED, "ended by TERM")
        worker.finishes(job, Ending.CANCELLED)

    with meanwhile(obey):
        answer = coordinated.json("task", "cancel", ref, "--wait")
    (ended,) = answer["details"]["in_hand"]
    assert ended == {
        "ref": f"{ref}.1.1#1@localhost",
        "command": "sleep 60",
        "worker": "scripted",
        "word": "ended",
        "told": "ended by TERM",
        "left_over": "",
    }
    assert coordinated.json("task", "show", ref)["details"]["in_hand"] == [ended]
    for command in (("task", "show", ref), ("task", "report", ref), ("attempt", "list", ref)):
        said = coordinated(*command).out
        assert "ended by TERM" in said
        assert f"{ref}.1.1#1@localhost" in said


def test_what_is_left_over_is_named_and_is_a_failure(
    coordinated: Cli, worker: ScriptedWorker, ref: str
) -> None:
    job = worker.takes()
    attempt = worker.begins(job, "sleep 60")

    def obey() -> None:
        eventually(lambda: is_withdrawn(coordinated, job), "the cancellation")
        worker.ends(job, attempt, Outcome.CANCELLED, HOW, left_over=LEFT)
        worker.finishes(job, Ending.CANCELLED)

    with meanwhile(obey):
        said = coordinated("task", "cancel", ref, "--wait")
    assert said.code == 1
    assert "4711 (sleep), 4712 (sh)" in said.out
    shown = coordinated.json("task", "show", ref)["details"]["in_hand"]
    assert [(e["word"], e["left_over"]) for e in shown] == [
        ("left_over", "4711 (sleep), 4712 (sh)")
    ]
    assert HOW in coordinated("task", "report", ref).out


def test_a_worker_that_has_not_answered_is_waited_for_and_named(
    coordinated: Cli, worker: ScriptedWorker, ref: str
) -> None:
    job = worker.takes()
    worker.begins(job, "sleep 60")
    answer = coordinated.json("task", "cancel", ref, "--wait", "--timeout", "0.5", code=1)
    assert answer["stage"] == "cancel"
    assert "its worker has not answered yet" in answer["reason"]
    assert f"{ref}.1.1#1@localhost" in answer["reason"]
    assert answer["details"]["in_hand"][0]["word"] == "awaited"
    refused = coordinated.refused("attempt", "cancel", f"{ref}.1.1")
    assert "no longer belongs to a worker" in refused["reason"]


def test_the_wait_is_told(coordinated: Cli, worker: ScriptedWorker, ref: str) -> None:
    worker.begins(worker.takes(), "sleep 60")
    said = coordinated("task", "cancel", ref, "--wait", "--timeout", "3")
    assert said.code == 1
    assert f"waiting for {ref}.1.1#1@localhost" in said.err


def test_a_lease_that_ran_out_is_a_fact_and_no_proof(coordinated: Cli, ref: str) -> None:
    dying = ScriptedWorker(coordinated.database, lease=0.5)
    dying.begins(dying.takes(), "sleep 60")
    answer = coordinated.json("task", "cancel", ref, "--wait", "--timeout", "1", code=1)
    assert "a worker is sent to end it" in answer["reason"]
    assert answer["details"]["phase"] == "cancelled"
    assert answer["details"]["in_hand"][0]["word"] == "awaited"


def test_a_worker_between_two_commands_only_lets_go(
    coordinated: Cli, worker: ScriptedWorker, ref: str
) -> None:
    job = worker.takes()

    def obey() -> None:
        eventually(lambda: is_withdrawn(coordinated, job), "the cancellation")
        worker.finishes(job, Ending.CANCELLED)

    with meanwhile(obey):
        answer = coordinated.json("task", "cancel", ref, "--wait")
    assert answer["details"]["in_hand"] == []


def test_a_command_whose_worker_was_lost_before_is_another_s_to_end(
    coordinated: Cli, worker: ScriptedWorker, ref: str
) -> None:
    job = worker.takes()
    worker.begins(job, "sleep 60")
    lost = JobFailed(JobKind.EXECUTE, 1, 0, 1, family="transient", stage="connect", reason="cut")
    assert worker.reports(job, lost)
    eventually(lambda: coordinated.rows("SELECT 1 FROM jobs WHERE postponed = 1"), "the next try")
    answer = coordinated.json("task", "cancel", ref, "--wait", "--timeout", "0.2", code=1)
    assert "a worker is sent to end it" in answer["reason"]
    failed = replace(lost, kind=JobKind.CLEAN_UP)
    told = [replace(failed, postponed=number) for number in range(CLEANUP_TRIES)]
    with coordinated.database.begin() as connection:
        facts: list[Fact] = [CommandLeftRunning(1, 0, 1), *told]
        inbox.send(connection, [(job.task_id, job.run_id, fact) for fact in facts])
    unknown = "SELECT 1 FROM attempts WHERE outcome = 'unknown'"
    eventually(lambda: coordinated.rows(unknown), "the last try")
    (left,) = coordinated.json("task", "show", ref)["details"]["in_hand"]
    assert (left["word"], left["told"]) == (
        "not_known",
        "cancelled, and no worker could end it: it may still run",
    )
    timeline = coordinated("task", "watch", ref).out
    assert "a worker is sent to end what step 1 left running" in timeline
    assert "the clean-up of step 1 failed: cut" in timeline


def test_what_nobody_has_taken_is_cancelled_at_once(coordinated: Cli, ref: str) -> None:
    answer = coordinated.json("task", "cancel", ref, "--wait")
    assert answer["details"] == {"ref": ref, "phase": "cancelled", "in_hand": []}


def test_without_waiting_the_answer_comes_at_once(
    coordinated: Cli, worker: ScriptedWorker, ref: str
) -> None:
    worker.begins(worker.takes(), "sleep 60")
    said = coordinated("task", "cancel", ref)
    assert said.code == 0
    assert "its worker has not answered yet" in said.out


def test_one_command_is_ended_and_its_step_goes_on(
    coordinated: Cli, worker: ScriptedWorker, ref: str
) -> None:
    job = worker.takes()
    attempt = worker.begins(job, "sleep 60")

    def obey() -> None:
        eventually(lambda: worker.wanted_dead(job) == attempt.key, "the wish")
        worker.ends(job, attempt, Outcome.FAILED, "ended by an operator", printed="half\n")

    with meanwhile(obey):
        answer = coordinated.json("attempt", "cancel", f"{ref}.1.1@localhost", "--wait")
    assert (answer["details"]["outcome"], answer["details"]["counted"]) == ("failed", True)
    assert answer["details"]["reason"] == "ended by an operator"
    for number in ("", "#1"):
        refused = coordinated.refused("attempt", "cancel", f"{ref}.1.1{number}")
        assert "has already ended: failed" in refused["reason"]
        assert refused["next_step_cmd"] == f"replan attempt show {ref}.1.1#1@localhost"
    assert "ended by an operator" in coordinated("task", "report", ref).out
    assert worker.finishes(job, Ending.INCOMPLETE, errors=1)
    said = coordinated("task", "cancel", ref)
    assert said.code == 0
    (told,) = coordinated.rows("SELECT body FROM events WHERE kind = 'AttemptCancelRequested'")
    by = told.body["requested_by"]
    timeline = coordinated("task", "watch", ref).out
    assert f"{by} asked to end attempt 1 of subtask 1.1" in " ".join(timeline.split())
    assert f"{by} ended it" in coordinated("task", "report", ref).out


def test_an_attempt_is_named_by_its_number_or_is_the_one_that_runs(
    coordinated: Cli, worker: ScriptedWorker, ref: str
) -> None:
    job = worker.takes()
    first = worker.begins(job, "sleep 60")
    worker.ends(job, first, Outcome.FAILED, "exit code 1")
    second = worker.begins(job, "sleep 61", try_no=1)
    refused = coordinated.refused("attempt", "cancel", f"{ref}.1.1#1")
    assert "has already ended" in refused["reason"]
    assert worker.wanted_dead(job) is None
    said = coordinated("attempt", "cancel", f"{ref}.1.1")
    assert said.code == 0
    assert f"{ref}.1.1#2@localhost is being ended" in said.out
    assert worker.wanted_dead(job) == second.key


def test_what_there_is_no_attempt_of_is_refused(
    coordinated: Cli, worker: ScriptedWorker, ref: str
) -> None:
    job = worker.takes()
    assert "there is no attempt" in coordinated.refused("attempt", "cancel", f"{ref}.1.1")["reason"]
    assert "is not an attempt" in coordinated.refused("attempt", "cancel", f"{ref}.1")["reason"]
    assert worker.wanted_dead(job) is None
    for wrong in ("0", "-1", "x", "nan"):
        refused = coordinated.refused("task", "cancel", ref, "--wait", "--timeout", wrong)
        assert refused["stage"] == "input"


def test_a_command_that_does_not_end_is_told(
    coordinated: Cli, worker: ScriptedWorker, ref: str
) -> None:
    job = worker.takes()
    worker.begins(job, "sleep 60")
    command = ("attempt", "cancel", f"{ref}.1.1", "--wait", "--timeout", "0.3")
    answer = coordinated.json(*command, code=1)
    assert "has not answered within 0.3 s" in answer["reason"]


def test_a_command_that_ended_by_itself_meanwhile_is_told(
    coordinated: Cli, worker: ScriptedWorker, ref: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ran when it was asked for, and no longer when a coordinator read of it."""
    job = worker.takes()
    attempt = worker.begins(job, "sleep 60")

    def post_late(*given: Any) -> bool:
        worker.ends(job, attempt, Outcome.OK)
        return post(*given)

    monkeypatch.setattr(attempts, "post", post_late)
    answer = coordinated.json("attempt", "cancel", f"{ref}.1.1", code=2)
    assert answer["reason"] == f"{ref}.1.1#1@localhost has already ended: ok"
    assert worker.wanted_dead(job) is None


def test_a_command_whose_end_no_coordinator_has_read_of_is_told(
    coordinated: Cli, worker: ScriptedWorker, ref: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = worker.takes()
    worker.begins(job, "sleep 60")
    monkeypatch.setattr(attempts, "post", lambda *_: False)
    for wait in ((), ("--wait",)):
        answer = coordinated.json("attempt", "cancel", f"{ref}.1.1", *wait, code=4)
        assert (answer["stage"], answer["details"]["outcome"]) == ("coordinator", "running")
        assert answer["next_step_cmd"] == "replan coordinator start"
