"""What tasks have left on a host is on record with their attempts, and read by later passes."""

from datetime import UTC, datetime

from sqlalchemy import text

from shared.domain.attempt import Attempt
from shared.domain.outcome import Outcome
from shared.domain.provenance import Mark, MarkKind
from shared.store.database import Database
from tests.contract.store_under_test import claim_pass
from workers.process.journal import Journal
from workers.provenance import MOST_OF_HOST, Left, remember, remembered

NOW = datetime.now(UTC)
ATTEMPT = Attempt("R1-1-r0-1-p1-t0", 1, 1, 0, 1, 1, 0, 1, "true", Outcome.OK, NOW, NOW)
SCRIPT = Mark(MarkKind.WRITTEN, "~/x.sh")
LINK = Mark(MarkKind.LINK, "/tmp/l", "/srv/app")
LONG = Mark(MarkKind.WRITTEN, "/srv/" + "x" * 9000)


def test_it_is_kept_by_host_and_place_with_the_last_task(database: Database) -> None:
    """Whatever the length of a path; another host knows nothing of it."""
    with database.begin() as connection:
        remember(connection, [Left("web1", 1, (SCRIPT, LINK, LONG))])
        remember(connection, [Left("web1", 2, (SCRIPT,)), Left("web2", 2, ())])
        assert remembered(connection, "web1") == {LINK: "T1", LONG: "T1", SCRIPT: "T2"}
        assert remembered(connection, "web2") == {}


def test_what_is_old_or_too_much_is_forgotten(database: Database) -> None:
    """The newest stay."""
    many = tuple(Mark(MarkKind.WRITTEN, f"/srv/{n}") for n in range(MOST_OF_HOST))
    with database.begin() as connection:
        remember(connection, [Left("web1", 1, (LINK, *many))])
        connection.execute(text("UPDATE provenance SET left_at = left_at - INTERVAL '1 year'"))
        remember(connection, [Left("web1", 2, (SCRIPT,))])
        assert remembered(connection, "web1") == {SCRIPT: "T2"}
        remember(connection, [Left("web1", 3, many)])
        assert len(remembered(connection, "web1")) == MOST_OF_HOST


def test_the_journal_writes_it_with_the_first_record_of_a_job(database: Database) -> None:
    """In the same commit: a pass that has left something is never without it on record."""
    job = claim_pass(database, "true")
    journal = Journal(database, "worker")
    journal.leave(job, Left("web1", 7, (SCRIPT,)))
    journal.end_attempt(job, ATTEMPT)
    journal.close()
    with database.begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM attempts")).scalar_one() == 1
        assert remembered(connection, "web1") == {SCRIPT: "T7"}
