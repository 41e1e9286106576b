"""What goes wrong while deliveries are judged: refused with a reason, and nothing is lost."""

import os
import pwd
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import waiting_jobs
from orchestrator.coordinator import Coordinator
from orchestrator.store import SqlLedger
from orchestrator.sweeper import Sweeper
from shared.domain.facts import CancelRequested, ResumeRequested, RevisionRequested, RunFact
from shared.store import inbox, repositories
from tests.integration.deliveries.test_sessions import POLICY, Sessions, sessions, writing

__all__ = ["sessions"]


@dataclass
class Judging:
    """A session whose deliveries are published, and are about to be judged."""

    sessions: Sessions
    folder: Path

    def decide(self) -> list[int]:
        """Fold in what was reported; the jobs that are due now."""
        Coordinator(SqlLedger(self.sessions.database)).drain()
        with self.sessions.database.begin() as connection:
            return [job.id for job in waiting_jobs.waiting(connection, ring_again=0)]

    def publish(self, *checks: str, count: int = 1, **policy: Any) -> list[int]:
        """Publish that many deliveries under these checks; the jobs that are to judge them."""
        self.use(checks=checks)
        names = ("one", "two")[:count]
        steps = [writing(name, name, ordinal=n) for n, name in enumerate(names, 1)]
        self.sessions.submit(*steps, policy=replace(POLICY, **policy))
        for job in self.decide():
            self.sessions.worker.lifecycle.carry_out(job)
        return self.decide()

    def use(self, **changes: Any) -> None:
        """Change the repository as replan knows it."""
        with self.sessions.database.begin() as connection:
            known = repositories.get(connection, "app")
            repositories.save(connection, replace(known, **changes), replace=True)

    def tell(self, fact: RunFact) -> None:
        """Somebody says this about the run."""
        with self.sessions.database.begin() as connection:
            inbox.send(connection, [(1, 1, fact)])

    def write(self, statement: str) -> None:
        """Change rows."""
        with self.sessions.database.begin() as connection:
            connection.execute(text(statement))

    @property
    def hangs(self) -> str:
        """A check that tells the number of its process, and then hangs."""
        return f"echo $$ > {self.folder}/begun; exec sleep 600"

    @contextmanager
    def hanging(self, job: int) -> Iterator[int]:
        """While a worker judges in a check that hangs: its process."""
        os.mkfifo(self.folder / "begun")
        carry_out = self.sessions.worker.lifecycle.carry_out
        worker = threading.Thread(target=carry_out, args=(job,))
        worker.start()
        yield int((self.folder / "begun").read_text())
        worker.join(30)
        assert not worker.is_alive()

    def lose(self) -> None:
        """The worker that judges is gone, and what it has begun goes on."""
        for hold in self.sessions.worker.keeper.in_hand():
            hold.lost.set()
        self.write("UPDATE jobs SET lease_until = clock_timestamp() - interval '1 second'")

    def looks(self) -> list[tuple[object, ...]]:
        """How the checks ended."""
        return self.sessions.rows("SELECT outcome FROM attempts WHERE look ORDER BY id")

    def judged(self) -> list[Path]:
        """The workspaces of judgements that are left."""
        return list((self.folder / "workspaces/app/attempts").glob("*-judged-*"))

    def assert_no_secret(self, value: str) -> None:
        """The host has kept records of the run, and no output with the value."""
        [(token,)] = self.sessions.rows("SELECT token FROM runs")
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
        kept = list((home / ".replan/jobs").rglob(f"{token}*"))
        assert kept
        shown = (path.read_bytes().replace(f"grep {value}".encode(), b"") for path in kept)
        assert not any(value.encode() in text for text in shown)

    def assert_accepted(self, count: int = 1) -> None:
        """All of it is accepted, and on the remote."""
        assert self.sessions.phases() == ["done"] * count, self.sessions.problems()
        head = self.sessions.rows("SELECT head, accepted FROM runs")
        assert [accepted for _, accepted in head] == [count]


@pytest.fixture
def judging(sessions: Sessions, tmp_path: Path) -> Judging:
    """A session of steps that write a file each."""
    return Judging(sessions, tmp_path)


def runs(process: int) -> bool:
    """Whether a process runs."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def change(bundle: Path) -> None:
    """Somebody changes it in the store."""
    bundle.chmod(0o600)
    bundle.write_bytes(bundle.read_bytes() + b"!")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [(change, "was changed in the store"), (Path.unlink, "is not in the store")],
    ids=["changed", "missing"],
)
def test_a_bundle_that_is_not_what_was_published_is_not_accepted(
    judging: Judging, spoil: Callable[[Path], None], reason: str
) -> None:
    """A person is told; once it is back, it goes on."""
    judging.publish("true")
    [(uri,)] = judging.sessions.rows("SELECT uri FROM deliveries")
    bundle = Path(str(uri).removeprefix("file://"))
    content = bundle.read_bytes()
    spoil(bundle)
    judging.sessions.carry_on()
    [(kind, _, told)] = judging.sessions.problems()
    assert kind == "escalation"
    assert reason in str(told)
    assert judging.sessions.rows("SELECT head FROM runs") == [(None,)]

    bundle.unlink(missing_ok=True)
    bundle.write_bytes(content)
    judging.tell(ResumeRequested())
    judging.sessions.carry_on()
    judging.assert_accepted()


def test_a_bundle_for_another_base_is_not_accepted(judging: Judging) -> None:
    """What is on record is not what the bundle says."""
    judging.publish("true")
    judging.write("UPDATE deliveries SET base = repeat('1', 40)")
    judging.sessions.carry_on()
    [(_, _, told)] = judging.sessions.problems()
    assert "is not the delivery that is on record" in str(told)
    assert judging.sessions.rows("SELECT head FROM runs") == [(None,)]


@pytest.mark.parametrize("what", ["setup", "check"])
def test_what_the_guard_denies_does_not_run_on_a_merged_tree(judging: Judging, what: str) -> None:
    """It was allowed while the delivery was made, and is not any more."""
    judging.publish("true")
    denied = "rm -rf /"
    judging.use(**{"setup": denied} if what == "setup" else {"checks": (denied,)})
    judging.sessions.carry_on()
    [(kind, _, told)] = judging.sessions.problems()
    assert (kind, "may not run" in str(told)) == ("operator", True), told
    judging.use(setup=None, checks=("true",))
    judging.tell(ResumeRequested())
    judging.sessions.carry_on()
    judging.assert_accepted()


def test_a_check_that_hangs_is_ended_and_red(judging: Judging) -> None:
    """Its author is told."""
    (job,) = judging.publish(judging.hangs, subtask_timeout=1.0)
    with judging.hanging(job) as process:
        pass
    assert not runs(process)
    judging.decide()
    [(rejection, told)] = judging.sessions.rows("SELECT rejection, reason FROM deliveries")
    assert (rejection, "its timeout" in str(told)) == ("check", True), told


def test_a_check_gets_the_secret_that_it_names(
    judging: Judging, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its value stands nowhere."""
    monkeypatch.setenv("REPLAN_SECRET_TOKEN", "correct-horse-battery")
    judging.publish("echo ${secret:TOKEN} | grep -q horse")
    judging.sessions.carry_on()
    judging.assert_accepted()
    rows = judging.sessions.rows("SELECT a::text, c::text FROM attempts a, check_runs c")
    assert "battery" not in str(rows)


def test_the_host_keeps_no_output_of_a_check_that_got_a_secret(
    judging: Judging, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output is stored there as it comes; what it says is hidden only on the way to the record."""
    monkeypatch.setenv("REPLAN_SECRET_TOKEN", "correct-horse-battery")
    (job,) = judging.publish("echo ${secret:TOKEN} | grep horse")
    judging.sessions.worker.lifecycle.carry_out(job)
    assert judging.looks() == [("ok",), ("ok",)]
    judging.assert_no_secret("horse")


def test_a_check_that_is_cut_short_is_repeated_on_the_merged_tree(judging: Judging) -> None:
    """It had changed a file by then, and the shell that waits for it was killed."""
    mark = judging.folder / "mark"
    script = f"[ -e {mark} ] && exit\necho dirty >one\n>{mark}\nkill -9 $APP_PARENT\n"
    judging.sessions.source.commit(**{"tools/check.sh": script})
    judging.publish("APP_PARENT=$PPID sh tools/check.sh")
    judging.sessions.carry_on()
    judging.assert_accepted()
    assert judging.looks() == [("unknown",), ("ok",), ("ok",)]
    numbers = judging.sessions.rows("SELECT number FROM attempts WHERE look ORDER BY number")
    assert numbers == [(1,), (2,), (3,)]


def test_two_workers_that_accept_at_once_run_a_check_once(judging: Judging) -> None:
    """The second one waits for what the first one has started; only its report counts."""
    counts, go = judging.folder / "counts", judging.folder / "go"
    os.mkfifo(go)
    check = f"echo $$ >> {counts}; echo $$ > {judging.folder}/begun; read word < {go}"
    (job,) = judging.publish(check)
    with judging.hanging(job):
        judging.write("UPDATE jobs SET lease_until = clock_timestamp() - interval '1 second'")
        second = threading.Thread(target=judging.sessions.worker.lifecycle.carry_out, args=(job,))
        second.start()
        go.write_text("go\n")
        second.join(30)
    judging.sessions.carry_on()
    judging.assert_accepted()
    assert len(counts.read_text().split()) == 1
    assert judging.sessions.rows("SELECT turn, ok FROM check_runs") == [(1, True)]


def test_a_head_that_moves_ends_what_was_checked_behind_another(judging: Judging) -> None:
    """The first delivery is red; the check of the second one behind it does not run on."""
    script = "ls | grep -q '^o.e$' || exit 0; ls | grep -q '^t.o$' || exit 1; "
    first, second = judging.publish(script + judging.hangs, count=2, max_delivery_attempts=1)
    with judging.hanging(second) as process:
        judging.sessions.worker.lifecycle.carry_out(first)
        judging.sessions.carry_on()
    assert not runs(process)
    phases = judging.sessions.phases()
    assert phases == ["waiting", "done"], (phases, judging.sessions.problems())
    assert judging.looks() == [("cancelled",), ("failed",), ("ok",), ("ok",)]
    assert judging.judged() == []


@pytest.mark.parametrize("fact", [CancelRequested(), RevisionRequested(1, "not like this")])
@pytest.mark.parametrize("gone", [False, True], ids=["there", "gone"])
def test_a_check_that_nobody_awaits_does_not_run_on(
    judging: Judging, monkeypatch: pytest.MonkeyPatch, fact: RunFact, *, gone: bool
) -> None:
    """The run is cancelled, or a person wants the step revised, and its worker may be gone."""
    monkeypatch.setenv("REPLAN_SECRET_TOKEN", "correct-horse-battery")
    (job,) = judging.publish(f"echo ${{secret:TOKEN}} | grep horse; {judging.hangs}")
    with judging.hanging(job) as process:
        assert len(judging.judged()) == 1
        if gone:
            judging.lose()
        judging.tell(fact)
        judging.decide()
    Sweeper(judging.sessions.database, max_claims=8).sweep()
    judging.sessions.carry_on()
    assert not runs(process)
    assert judging.looks() == [("cancelled",)]
    assert judging.judged() == []
    judging.assert_no_secret("horse")
