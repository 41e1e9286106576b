"""A worker is built without a word from its servers, so that none of them can end it there."""

from shared.settings import load_settings
from workers.wiring import make_worker


def environ(**settings: str) -> dict[str, str]:
    """Servers that nobody runs."""
    return {
        "REPLAN_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        "REPLAN_BROKER_URL": "redis://127.0.0.1:1/0",
        **settings,
    }


def test_calls_to_models_take_no_place_of_other_jobs() -> None:
    """Gathering evidence does not wait behind slow calls, nor do commands."""
    roles = ["planner", "subtask_planner", "escalation"]
    settings = environ(REPLAN_PLANNER_THREADS="3", REPLAN_THREADS="2")
    worker = make_worker(load_settings(settings), roles)
    try:
        assert (worker.threads, len(worker.crews)) == (5, 2)
    finally:
        worker.close()


def test_a_database_that_goes_away_at_the_start_does_not_end_a_worker() -> None:
    """As when it ends all connections in the moment after the worker has waited for it."""
    worker = make_worker(load_settings(environ()), ["executor"])
    try:
        assert worker.name.startswith("executor.")
    finally:
        worker.close()
