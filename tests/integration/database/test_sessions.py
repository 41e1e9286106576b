"""Sessions and deliveries as people see them."""

import re
import time

import pytest
from sqlalchemy import text

from orchestrator.views.deliveries import delivery_view, list_deliveries, open_deliveries
from orchestrator.views.places import one_run
from orchestrator.views.sessions import list_sessions, require_session, session_view
from shared.domain.delivery import DeliveryStatus, Stage
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.store.database import Database
from tests.services.sessions import make_session


def test_a_session_on_one_screen(database: Database) -> None:
    with database.begin() as connection:
        task = make_session(connection, deliveries=5, accepted=2)
        place = require_session(connection, Ref(task))
        view = session_view(connection, place)
        (line,) = list_sessions(connection).sessions
    assert view.session == line
    assert line.deliveries == {DeliveryStatus.ACCEPTED: 2, DeliveryStatus.PUBLISHED: 3}
    assert view.steps == {"accepted": 2, "accepting": 3}
    assert [each.place for each in view.queue] == [3, 4, 5]
    assert {each.stage for each in view.queue} == {Stage.QUEUED}
    assert view.checkpoint is not None
    assert (view.checkpoint.number, view.checkpoint.accepted) == (1, 1)
    assert [each.name for each in view.worktrees] == [f"{place.run_id}-1"]


def test_a_delivery_is_found_by_its_number_and_by_its_digest(database: Database) -> None:
    with database.begin() as connection:
        make_session(connection)
        shown = delivery_view(connection, "D1")
        assert delivery_view(connection, shown.delivery.sha256[:12]) == shown
        assert delivery_view(connection, "1") == shown
        for name, why in {
            "D9": "there is no delivery D9",
            "f00dfeed": "there is no delivery f00dfeed",
            "x": "'x' is not a valid delivery",
            "%": "'%' is not a valid delivery",
            "D" + "9" * 30: "is not a valid delivery",
        }.items():
            with pytest.raises(Rejected, match=re.escape(why)):
                delivery_view(connection, name)
    (judgement,) = shown.judgements
    assert (judgement.ok, judgement.attested) == (True, True)
    assert shown.deliverables["summary"] == ["it works"]


def test_a_list_goes_on_where_it_ended(database: Database) -> None:
    with database.begin() as connection:
        make_session(connection, deliveries=5, accepted=2)
        first = list_deliveries(connection, limit=3)
        rest = list_deliveries(connection, limit=3, after=first.next)
        open_ones = list_deliveries(connection, status=DeliveryStatus.PUBLISHED)
    assert [each.name for each in first.deliveries] == ["D5", "D4", "D3"]
    assert ([each.name for each in rest.deliveries], rest.next) == (["D2", "D1"], None)
    assert [each.name for each in open_ones.deliveries] == ["D5", "D4", "D3"]


def test_a_thousand_deliveries_are_listed_at_once(database: Database) -> None:
    """In one query, whose time on a busy machine stays far below what a person notices."""
    with database.begin() as connection:
        task = make_session(connection, deliveries=1000, accepted=500)
        place = one_run(connection, Ref(task))
        connection.execute(text("ANALYZE"))
        spans = []
        for _ in range(5):
            began = time.perf_counter()
            assert len(list_deliveries(connection, run_id=place.run_id).deliveries) == 1000
            spans.append(time.perf_counter() - began)
        assert len(open_deliveries(connection, place.run_id, 1000)) == 500
    print(f"1,000 deliveries listed in {min(spans) * 1000:.0f} ms")
    assert min(spans) < 0.5


def test_a_task_that_does_not_deliver_is_not_a_session(database: Database) -> None:
    with database.begin() as connection:
        task = make_session(connection)
        connection.execute(text("UPDATE tasks SET policy = policy - 'deliver'"))
        with pytest.raises(Rejected, match="is not a session"):
            require_session(connection, Ref(task))
