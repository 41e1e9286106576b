"""A worker is built without a word from its servers, so that none of them can end it there."""

from shared.settings import load_settings
from workers.wiring import make_worker


def test_a_database_that_goes_away_at_the_start_does_not_end_a_worker() -> None:
    """As when it ends all connections in the moment after the worker has waited for it."""
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    environ = {"REPLAN_DATABASE_URL": nowhere, "REPLAN_BROKER_URL": "redis://127.0.0.1:1/0"}
    worker = make_worker(load_settings(environ), ["executor"])
    try:
        assert worker.name.startswith("executor.")
    finally:
        worker.close()
