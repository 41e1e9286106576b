"""Records that the database has forgotten, on the command line: shown, adopted, discarded."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from shared.domain.budget import Ending
from shared.domain.facts import PassFinished
from shared.domain.jobs import Job
from shared.domain.records import HostRecord
from tests.integration.cli.calling import Cli
from tests.services.ring import eventually
from tests.services.scripted_worker import ScriptedWorker
from tests.services.sshd import SshServer

PLAN = "steps:\n  - title: s\n    subtasks:\n      - {run: 'true'}\n"
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def worker(coordinated: Cli) -> ScriptedWorker:
    return ScriptedWorker(coordinated.database)


def record(pass_no: int = 1, *, differs: bool = False) -> HostRecord:
    return HostRecord(
        claim="abcd",
        revision=0,
        pass_no=pass_no,
        key=f"R1-1-r0-1-p{pass_no}-t0",
        subtask=1,
        command="echo [bold]",
        running=False,
        exit_code=3,
        started_at=AT,
        differs=differs,
    )


def asked(cli: Cli, worker: ScriptedWorker, folder: Path, *records: HostRecord) -> Job:
    """A task whose host has those records, and the job that has found them."""
    plan = folder / "plan.yaml"
    plan.write_text(PLAN)
    cli.json("task", "submit", "--plan", plan, "--local")
    job = worker.takes()
    fact = PassFinished(1, 0, 1, Ending.FORGOTTEN, 0, "the host knows more", records=records)
    assert worker.reports(job, fact)
    eventually(lambda: cli.rows("SELECT id FROM interventions"), "the question")
    return job


def test_the_records_are_shown_with_what_can_be_typed(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    asked(coordinated, worker, tmp_path, record())
    shown = coordinated("intervention", "show", "I1").out
    assert "echo [bold]" in shown
    assert "subtask 1, pass 1, revision 0, started at 2026-01-02 03:04:05 UTC: exit code 3" in shown
    assert "replan intervention answer I1 --adopt" in shown
    assert "replan intervention answer I1 --discard" in shown
    answer = coordinated.json("intervention", "show", "I1")
    assert answer["kind"] == "intervention.show"
    told = coordinated.json("doctor", code=1)["details"]["findings"]
    (finding,) = [each for each in told if each["check"] == "age"]
    assert finding["reason"].startswith("this database is older than its hosts: I1")
    assert finding["next_step_cmd"] == "replan intervention show I1"


def test_adopted_records_let_the_same_pass_go_on(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    asked(coordinated, worker, tmp_path, record())
    coordinated.json("intervention", "answer", "I1", "--adopt")
    job = worker.takes()
    assert (job.pass_no, job.resumed) == (1, True)
    (row,) = coordinated.rows("SELECT token, pass_no, answer FROM settled_claims")
    assert (row.token, row.pass_no, row.answer) == ("abcd", 1, "adopt")
    closed = coordinated.json("intervention", "show", "I1")["details"]
    assert closed["answer"] == "adopt"
    again = coordinated.refused("intervention", "answer", "I1", "--discard")
    assert "already been answered" in again["reason"]


def test_discarded_records_let_a_pass_begin_that_has_none(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    asked(coordinated, worker, tmp_path, record(), record(pass_no=4))
    coordinated.json("intervention", "answer", "I1", "--discard")
    job = worker.takes()
    assert (job.pass_no, job.resumed) == (5, False)


def test_records_of_another_text_cannot_be_adopted(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    asked(coordinated, worker, tmp_path, record(differs=True))
    refused = coordinated.refused("intervention", "answer", "I1", "--adopt")
    assert refused["next_step_cmd"] == "replan intervention answer I1 --discard"


@pytest.mark.parametrize("flag", ["--ran", "--again", "anything"])
def test_other_answers_are_refused(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path, flag: str
) -> None:
    asked(coordinated, worker, tmp_path, record())
    refused = coordinated.refused("intervention", "answer", "I1", flag)
    assert "--adopt" in refused["reason"]


def test_a_resumption_does_not_answer_it(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    asked(coordinated, worker, tmp_path, record())
    refused = coordinated.refused("task", "resume", "T1")
    assert "say what becomes of the records" in refused["reason"]


@pytest.mark.changes_rows
def test_a_check_of_the_host_names_what_the_database_does_not_know(
    working: Cli, sshd: SshServer, tmp_path: Path
) -> None:
    """Passes of a run that it knows, and a run that it does not know."""
    address = ["--address", sshd.host, "--port", sshd.port, "--user", sshd.user]
    working.json("host", "add", "web1", *address, "--key", sshd.key_path)
    plan = tmp_path / "plan.yaml"
    plan.write_text("steps:\n  - title: s\n    subtasks:\n      - {run: uname -a}\n")
    for _ in range(2):
        working.json("task", "submit", "--plan", plan, "--host", "web1", "--wait")
    nothing = working.json("host", "check", "web1")["details"]["unknown"]["passes"]
    assert nothing == []
    before = working.json("host", "check", "web1")["details"]["unknown"]["runs"]
    with working.database.begin() as connection:
        connection.exec_driver_sql("UPDATE jobs SET tokens = '{}' WHERE run_id = 1")
        connection.exec_driver_sql("UPDATE runs SET token = 'another' WHERE id = 2")
    checked = working.json("host", "check", "web1")
    assert checked["kind"] == "host.check"
    assert checked["details"]["report"]["passes"] == []
    unknown = checked["details"]["unknown"]
    assert [(each["ref"], each["pass_no"]) for each in unknown["passes"]] == [("T1.1@web1", 1)]
    assert unknown["runs"] == before + 1
    assert "this database is older than the host" in working("host", "check", "web1").err
    told = working.json("doctor", code=1)["details"]["findings"]
    (finding,) = [each for each in told if each["check"] == "age"]
    assert "web1 has run commands of T1.1@web1 in pass 1" in finding["reason"]
    added = working.json("host", "add", "web1", "--replace-host-key")
    assert added["details"]["report"]["passes"] == []  # neither answer lists all that a host knows
