"""Where the lock of a worker would say nothing about it, its lease alone counts."""

import pytest

from orchestrator.presence_watch import AWAY, SETTLING
from orchestrator.views.serving_troubles import serving_troubles
from orchestrator.views.status import status
from shared.store import presence
from shared.store.database import Database
from tests.integration.losses.bench import LONG, Bench, seen
from tests.services.pooler import Pooler
from tests.services.presences import connected
from tests.services.ring import eventually
from workers.process.leases import LeaseKeeper


def test_a_worker_behind_a_pooler_has_its_lease_alone(bench: Bench) -> None:
    """The lock would be the pooler's: it says nothing about the worker, so none is taken."""
    with Pooler(bench.database.url.port or 5432) as pooler:
        through = Database(through_port(bench.database, pooler.port))
        keeper = LeaseKeeper(through, lease=LONG, heartbeat=LONG)
        try:
            keeper.await_presence(10)
            assert keeper.presence is None
            assert seen(bench.database) == set()
        finally:
            keeper.close()
            through.close()
    bench.claim(None)
    bench.settle()
    bench.look(AWAY, LONG)
    bench.decide()
    assert bench.told() == []
    assert bench.leased()


def test_a_coordinator_behind_a_pooler_reports_nobody(bench: Bench) -> None:
    """It would not notice that the database was away, and take every worker for lost."""
    bench.claim()
    with Pooler(bench.database.url.port or 5432) as pooler:
        through = Database(through_port(bench.database, pooler.port))
        watch = bench.new_watch(through)
        for pause in (0.0, SETTLING, AWAY, LONG):
            bench.time += pause
            watch.look()
        watch.close()
        through.close()
    bench.decide()
    assert bench.told() == []


def test_nobody_says_who_is_missing_who_looks_through_a_pooler(bench: Bench) -> None:
    """What it does not see may be there; what it sees is."""
    with Pooler(bench.database.url.port or 5432) as pooler:
        through = Database(through_port(bench.database, pooler.port))
        with through.reading() as connection:
            alone = status(connection)
        with connected(bench.database, "executor"), through.reading() as connection:
            one = status(connection)
        through.close()
    assert serving_troubles(alone, "any") == ()
    assert {queue.workers for queue in alone.queues} == {None}
    assert [queue.workers for queue in one.queues if queue.role == "executor"] == [1]


def through_port(database: Database, port: int) -> str:
    """The address of the same database at another port of this machine."""
    moved = database.url.set(drivername="postgresql", host="127.0.0.1", port=port, query={})
    return moved.render_as_string(hide_password=False)


def test_a_lock_that_the_server_refuses_is_done_without(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full table of locks, say: leases are renewed all the same."""
    monkeypatch.setattr(presence, "TAG", 2**16)
    keeper = LeaseKeeper(bench.database, lease=LONG, heartbeat=0.05)
    try:
        keeper.await_presence(10)
        job = bench.claim(None)
        with keeper.hold(job, 0.0) as hold:
            first = hold.valid_until
            eventually(lambda: hold.valid_until > first, "a renewal")
        assert keeper.presence is None
    finally:
        keeper.close()
