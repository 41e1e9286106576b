"""The budgets of subtasks, which the gateway reads from rows; and rows that a crash forgets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy import text

from shared.domain.approval import SubtaskPlace
from shared.store import budgets
from shared.store.database import Database
from tests.integration.test_gateway_ledger import COST, USAGE, metered
from workers.agents.spending import LedgerSpending
from workers.gateway.script import parse_script
from workers.gateway.scripted import ScriptedUpstream
from workers.gateway.upstream import Answer, ModelRequest, Upstream


@dataclass(frozen=True, slots=True)
class Forgetful:
    """An upstream that is asked while the database gives the number of the call to another one."""

    database: Database
    upstream: Upstream

    @asynccontextmanager
    async def open(self, request: ModelRequest) -> AsyncIterator[Answer]:
        """See `Upstream`."""
        await asyncio.to_thread(self._forget)
        async with self.upstream.open(request) as answer:
            yield answer

    async def close(self) -> None:
        """See `Upstream`."""

    def _forget(self) -> None:
        with self.database.begin() as connection:
            connection.execute(text("UPDATE model_calls SET attempt_key = 'another'"))


def test_a_budget_is_that_of_all_attempts_of_a_subtask_and_a_person_raises_it(
    database: Database,
) -> None:
    """What the next attempt of the plan may spend does not undo a person's word."""
    with metered(database, [{"text": "x"}, USAGE]) as gateway:
        spending, first = LedgerSpending(database), gateway.attempt.key
        second = first.replace("-p1-t0", "-p1-t1")
        spending.allow(first, 0.02)
        gateway.write(ended=False)
        assert gateway.ask().is_success
        gateway.write(ended=True)
        gateway.write(ended=False, key=second)
        assert gateway.ask(key=second).is_success
        assert gateway.ask(key=second).status_code == 402
        reached = spending.cap_reached(second)
        assert reached is not None
        assert reached.spent == 2 * COST
        with database.begin() as connection:
            run = gateway.job.run_id or 0
            budgets.raise_to(connection, run, SubtaskPlace(1, 0, 1), reached.enough)
        spending.allow(first, 0.02)
        assert gateway.ask(key=second).is_success
        other = first.replace("-0-1-p1", "-0-2-p1")
        gateway.write(ended=False, key=other)
        assert gateway.ask(key=other).is_success, "another subtask has a budget of its own"


def test_what_a_crash_of_postgres_forgets_is_counted_all_the_same(database: Database) -> None:
    """The beginning of a call is not awaited on the disk: then its number may be used again."""
    answers = Forgetful(database, ScriptedUpstream(parse_script([[{"text": "x"}, USAGE]])))
    with metered(database, answers=answers) as gateway:
        gateway.write(ended=False)
        assert gateway.ask().is_success
    other, counted = gateway.rows()
    assert (other.ended_at, other.cost) == (None, None)
    assert (counted.cost, counted.attempt_key) == (COST, gateway.attempt.key)
    assert (counted.task_id, counted.model) == (gateway.job.task_id, "dear")
