"""The budgets of subtasks, which the gateway reads from rows; and rows that a crash forgets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from shared.domain.approval import SubtaskPlace
from shared.store import budgets
from shared.store.database import Database
from tests.integration.test_gateway_ledger import CALL, COST, KEY, USAGE, Metered, metered
from workers.agents.spending import LedgerSpending
from workers.call_ledger import CallLedger
from workers.gateway.app import Gateway
from workers.gateway.ledger import LedgerAccounts
from workers.gateway.script import parse_script
from workers.gateway.scripted import ScriptedUpstream
from workers.gateway.serving import serving
from workers.gateway.upstream import Answer, ModelRequest, Upstream
from workers.llm.prices import Prices


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
        other = first.replace("r0-1-p1", "r0-2-p1")
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


def question_cost(gateway: Metered, *said: str, **more: Any) -> Decimal:
    """What the question of a call counts for, in dollars; `said` alternates with the agent."""
    turns = [
        {"role": ("user", "assistant")[number % 2], "content": each}
        for number, each in enumerate(said)
    ]
    body = {**CALL, "messages": turns, "model": more.pop("model", "dear")}
    assert gateway.ask(body=body, **more).is_success
    return Decimal(gateway.rows()[-1].input_cost)


def test_what_the_cache_has_is_known_for_each_model_and_after_a_restart(
    database: Database,
) -> None:
    """A long session would else be found over its budget, although its next question is cheap."""
    usages = USAGE, {"usage": {"input": 10, "cached": 10, "output": 1}}
    turns = [[{"text": "x"}, usage] for usage in usages]
    whole, cached, long = Decimal("0.03"), Decimal("0.004"), "x" * 9000
    prices = Prices(["dear=10/10/1/10", "other=10/10/1/10"])
    accounts = LedgerAccounts(database, CallLedger(database, prices, 0.0), KEY)
    with metered(database, *turns) as gateway:
        restarted = Gateway(ScriptedUpstream(parse_script(turns)), accounts)
        first = gateway.attempt.key
        gateway.write(ended=False)
        with serving(restarted) as where:
            later = replace(gateway, url=where.url)
            assert question_cost(later, long, model="other") > whole
            assert question_cost(gateway, long) > whole, "the cache of another model"
            assert question_cost(gateway, "a small", "and", "other question") < cached
            assert question_cost(gateway, long) < cached
            assert question_cost(later, long) < cached, "restarted"
            gateway.write(ended=True)
            second = first.replace("-p1-t0", "-p1-t1")
            gateway.write(ended=False, key=second)
            assert question_cost(gateway, long, key=second) < cached, "its session goes on"
            other = first.replace("r0-1-p1", "r0-2-p1")
            gateway.write(ended=False, key=other)
            assert question_cost(gateway, long, key=other) > whole


def test_the_reason_of_a_refusal_holds_no_secret(database: Database) -> None:
    """An agent chooses the name of the model that it asks for."""
    with metered(database, [{"text": "x"}]) as gateway:
        gateway.write(ended=False)
        spending = LedgerSpending(database)
        spending.allow(gateway.attempt.key, 1.0)
        answer = gateway.ask(body={**CALL, "model": "hush"})
        reached = spending.cap_reached(gateway.attempt.key)
        (row,) = gateway.rows()
    assert answer.status_code == 402
    assert reached is not None
    assert reached.model == row.model == "‹secret:X›"
    assert "hush" not in f"{answer.text}{reached}{row}"
