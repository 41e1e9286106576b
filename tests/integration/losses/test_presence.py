"""A worker that is gone is missed at once; one that is only away for a moment keeps its jobs."""

import os
import signal
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from orchestrator import losses
from orchestrator.history import compare
from orchestrator.presence_watch import AWAY, COMPARE_EVERY, SETTLING
from orchestrator.relay import Relay
from orchestrator.sweeper import Sweeper
from shared.domain.attempt import Attempt
from shared.domain.errors import Transient
from shared.domain.facts import CancelRequested
from shared.domain.outcome import Outcome
from shared.store import attempts, inbox, presence
from shared.store.attempts import AttemptWrite
from shared.store.database import Database
from tests.integration.losses.bench import EVENTS, LONG, Bench, gone, present, seen
from tests.services.ring import eventually
from workers.process.leases import LeaseKeeper


def test_the_job_of_a_killed_worker_is_free_at_once(
    bench: Bench, holder: "subprocess.Popen[str]"
) -> None:
    """The kernel closes its socket, the server ends its session; the lease has minutes left."""
    bench.claim()
    bench.settle()
    holder.send_signal(signal.SIGKILL)
    gone(bench)
    bench.look(0.5)
    assert bench.rows("SELECT * FROM inbox") == []
    bench.look(AWAY)
    assert bench.leased()
    bench.decide()
    assert not bench.leased()
    Relay(bench.database, bench, ring_again=60).ring_due()
    assert bench.bells == [1]
    assert bench.claim(8).fence == 2


def test_the_loss_is_in_the_history_and_the_history_is_whole(bench: Bench) -> None:
    """People see which worker it was; `doctor` folds it like every fact."""
    bench.claim()
    bench.settle()
    bench.look(AWAY)
    bench.decide()
    (row,) = bench.rows(EVENTS)
    assert row.body["worker"] == "executor.7@web1"
    assert (row.body["kind"], row.body["step"], row.body["sign"]) == ("execute", 1, "presence")
    assert compare(bench.database).divergences == ()


def test_a_frozen_worker_keeps_its_lease(bench: Bench, holder: "subprocess.Popen[str]") -> None:
    """Its session lives on, so nothing tells it from one that thinks; then its lease runs out."""
    bench.claim()
    os.kill(holder.pid, signal.SIGSTOP)
    bench.settle()
    bench.look(AWAY, LONG, LONG)
    bench.decide()
    assert bench.leased()
    assert bench.told() == []


def test_a_lease_that_ran_out_is_told_once(bench: Bench) -> None:
    """As the loss of its worker, before the bell rings for somebody else."""
    bench.claim(lease=0.0)
    relay = Relay(bench.database, bench, ring_again=0.0)
    for _ in range(3):
        relay.ring_due()
    bench.decide()
    assert bench.told() == ["lease"]
    assert bench.bells
    bench.claim(lease=0.0)
    relay.ring_due()
    bench.decide()
    assert bench.told() == ["lease", "lease"]


def test_a_worker_that_connects_again_keeps_its_job(bench: Bench, database_url: str) -> None:
    """Its session was ended and it is back within the grace: nothing is told."""
    own = Database(database_url)
    keeper = LeaseKeeper(own, lease=LONG, heartbeat=LONG)
    try:
        keeper.await_presence(10)
        number = keeper.presence
        assert number is not None
        job = bench.claim(number)
        with keeper.hold(job, 0.0) as hold:
            bench.settle()
            before = pid_of(bench, number)
            bench.rows("SELECT pg_terminate_backend(:pid)", pid=before)
            eventually(lambda: pid_of(bench, number) not in {None, before}, "its next session")
            bench.look(0.5, AWAY)
            bench.decide()
            assert bench.told() == []
            assert bench.leased()
            assert not hold.lost.is_set()
    finally:
        keeper.close()
        own.close()


def test_what_is_claimed_while_the_worker_connects_again_names_its_lock(
    bench: Bench, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nobody would miss the worker if it were killed before its next heartbeat."""
    own = Database(database_url)
    keeper = LeaseKeeper(own, lease=LONG, heartbeat=LONG)
    try:
        keeper.await_presence(10)
        number = keeper.presence
        assert number is not None
        tries: list[tuple[str, ...]] = []

        def refused(*channels: str) -> None:
            tries.append(channels)
            raise Transient("not yet", stage="database")

        monkeypatch.setattr(own, "listen", refused)
        bench.rows("SELECT pg_terminate_backend(:pid)", pid=pid_of(bench, number))
        eventually(lambda: tries, "a try to connect again")
        assert keeper.presence == number
    finally:
        keeper.close()
        own.close()


def pid_of(bench: Bench, number: int) -> int | None:
    """The server process that holds the lock of a worker."""
    query = (
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory'"
        " AND ((classid::bigint << 32) | objid::bigint) & :highest = :number"
    )
    found = bench.rows(query, number=number, highest=presence.HIGHEST)
    return found[0].pid if found else None


def test_an_absence_shorter_than_the_grace_is_forgotten(bench: Bench) -> None:
    """The next one is measured from its own begin."""
    bench.claim()
    with present(bench.database, 7):
        bench.settle()
    gone(bench)
    bench.look(AWAY / 2)
    with present(bench.database, 7):
        bench.look(AWAY)
    gone(bench)
    bench.look(AWAY / 2)
    bench.decide()
    assert bench.told() == []
    bench.look(AWAY)
    bench.decide()
    assert bench.told() == ["presence"]


def test_a_worker_that_is_back_before_the_decision_keeps_its_job(bench: Bench) -> None:
    """Its loss was reported, and it renewed its lease before the coordinator had read that."""
    job = bench.claim()
    bench.settle()
    bench.look(AWAY)
    assert bench.renew(job)
    bench.decide()
    assert bench.leased()


def test_a_worker_that_is_back_before_another_one_came_keeps_its_job(bench: Bench) -> None:
    """Its lease was ended, nobody has claimed the job, and the fence is still its own."""
    job = bench.claim()
    bench.settle()
    bench.look(AWAY)
    bench.decide()
    assert not bench.leased()
    assert bench.renew(job)
    assert bench.leased()


def test_a_worker_that_comes_back_too_late_is_told_that_its_job_is_lost(bench: Bench) -> None:
    """Its fence is not valid any more; whoever has the job drives it on."""
    job = bench.claim()
    bench.settle()
    bench.look(AWAY)
    bench.decide()
    bench.claim(8)
    assert not bench.renew(job)


def test_a_loss_that_is_decided_late_does_not_free_the_job_of_the_next_worker(
    bench: Bench,
) -> None:
    """The lease of the lost one ran out while no coordinator was there to read of its loss."""
    bench.claim()
    bench.settle()
    bench.look(AWAY)
    bench.rows("UPDATE jobs SET lease_until = clock_timestamp() RETURNING id")
    bench.claim(8)
    bench.decide()
    assert bench.leased()


def test_all_sessions_end_at_once_and_nobody_is_taken_for_lost(bench: Bench) -> None:
    """A restart of the database ends our session, too: from then on the workers have time."""
    bench.claim()
    with present(bench.database, 7):
        bench.settle()
        bench.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        gone(bench)
        with pytest.raises(Transient):
            bench.look(0.5)
    bench.look(0.5, AWAY, SETTLING - AWAY - 0.1)
    assert bench.rows("SELECT * FROM inbox") == []
    with present(bench.database, 7):
        bench.look(AWAY, COMPARE_EVERY)
        bench.decide()
        assert bench.told() == []
    gone(bench)
    bench.look(0.5, AWAY)
    bench.decide()
    assert bench.told() == ["presence"]


def test_a_coordinator_that_begins_soon_judges_whom_it_has_seen(bench: Bench) -> None:
    """The server was there all the while, however short it was."""
    bench.claim()
    with present(bench.database, 7):
        bench.look(0.0)
    gone(bench)
    bench.look(0.1, AWAY)
    bench.decide()
    assert bench.told() == ["presence"]


def test_a_coordinator_that_begins_finds_old_sessions_and_judges_at_once(bench: Bench) -> None:
    """Nothing has ended all sessions lately, so whoever is not there is gone."""
    bench.claim()
    bench.oldest = SETTLING
    bench.look(0.0, AWAY)
    bench.decide()
    assert bench.told() == ["presence"]


def test_the_age_of_the_oldest_session_is_that_of_the_server(bench: Bench) -> None:
    """It grows while one session lasts; by the clock of the database."""
    with bench.database.listen() as first:
        began = presence.oldest_session(first)
        with bench.database.listen() as second:
            assert presence.oldest_session(second) > began
            assert presence.oldest_session(first) > began


def test_a_session_that_the_worker_has_lost_does_not_show_it_present(bench: Bench) -> None:
    """The server may not have noticed that it is half-open: the worker's next session ends it."""
    with present(bench.database, 7):
        former = pid_of(bench, 7)
        with present(bench.database, 7):
            eventually(lambda: pid_of(bench, 7) not in {None, former}, "the end of the former")
            assert seen(bench.database) == {7}
        gone(bench)


def test_two_coordinators_report_a_loss_once(bench: Bench) -> None:
    bench.claim()
    another = bench.new_watch()
    for pause in (0.0, SETTLING, AWAY, AWAY):
        bench.look(pause)
        another.look()
    another.close()
    bench.decide()
    assert bench.told() == ["presence"]


def test_what_was_lost_before_anybody_looked_is_found_as_well(bench: Bench) -> None:
    """No coordinator was there when the worker vanished: its job still names it."""
    bench.claim()
    bench.look(0.0, SETTLING - 0.1)
    bench.decide()
    assert bench.told() == []
    bench.look(0.1)
    bench.decide()
    assert bench.told() == ["presence"]


def test_the_clean_up_of_a_cancelled_step_does_not_wait_for_the_lease_of_a_lost_worker(
    bench: Bench,
) -> None:
    """The command of a killed worker runs on; somebody is sent to end it at once."""
    job = bench.claim()
    at = datetime(2026, 1, 2, tzinfo=UTC)
    running = Attempt("k", 1, 1, 0, 1, 1, 0, 1, "sleep 9", Outcome.FAILED, at, at)
    with bench.database.begin() as connection:
        entry = AttemptWrite(job.claim, running, ended=False, worker="w")
        attempts.record(connection, [entry])
        inbox.send(connection, [(1, None, CancelRequested())])
    bench.decide()
    sweeper = Sweeper(bench.database, max_claims=20)
    sweeper.sweep()
    bench.decide()
    clean_ups = "SELECT 1 FROM jobs WHERE kind = 'clean_up'"
    assert bench.rows(clean_ups) == []
    with present(bench.database, 7):
        bench.settle()
    gone(bench)
    bench.look(0.5, AWAY)
    sweeper.sweep()
    bench.decide()
    assert len(bench.rows(clean_ups)) == 1


@pytest.mark.parametrize("jobs_held", [0, 3])
def test_nothing_is_noted_twice_and_nothing_that_is_not_lost(
    bench: Bench, jobs_held: int, note: Callable[[], int]
) -> None:
    """Whoever has no job, has given it back, or is unknown, is not reported."""
    if jobs_held:
        bench.claim()
    assert note() == min(jobs_held, 1)
    assert note() == 0


@pytest.fixture
def note(bench: Bench) -> Callable[[], int]:
    """Notes the loss of worker 7 and of one that nobody knows."""

    def noted() -> int:
        with bench.database.begin() as connection:
            return losses.note_absent(connection, {7, 99})

    return noted
