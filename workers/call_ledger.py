"""The ledger of calls to models: each is a row before it is made, and a cap stops the next."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import structlog

from shared.domain.errors import Misconfigured, ReplanError
from shared.domain.ids import place_of_key
from shared.domain.next_step import NextStep
from shared.domain.spending import SPENDING, Cap, CapReached, exact, is_spent
from shared.store import model_calls
from shared.store.database import Database
from shared.store.model_calls import BegunCall, EndedCall, Spent
from workers.llm.calls import CallRecord, Usage
from workers.llm.prices import Prices

log = structlog.get_logger()

_PAUSES = (0.1, 0.5, 2.0)
"""Seconds before further tries to record the end of a call while the database is unavailable."""


class CapRefusal(Misconfigured):
    """A call may not be made, for the reason in `reached`."""

    def __init__(self, reached: CapReached, next_step: NextStep) -> None:
        super().__init__(reached.reason, stage=SPENDING, next_step=next_step)
        self.reached = reached


class CallLedger:
    """The ledger in Postgres; `daily_cap` is in dollars, 0 means no cap. Thread-safe.

    Spending is checked before each call. What the question alone is estimated to cost counts from
    the beginning, the whole call once it has ended. A call is not made if its question alone would
    exceed a cap. The longest possible answer is not held against a cap: it costs many times what
    answers cost, so nearly every cap would be reached long before it is spent. Those that call
    at the same time can therefore exceed a cap by the answers then in progress, and by no others.
    """

    def __init__(self, database: Database, prices: Prices, daily_cap: float) -> None:
        self._database = database
        self._prices = prices
        self._daily_cap = Decimal(str(daily_cap))

    def input_cost(self, model: str, asked: Usage) -> Decimal | None:
        """What a question is estimated to cost, in dollars; None if nobody knows the price."""
        return self._prices.cost(model, asked)

    def begin(self, make: Callable[[Any], BegunCall]) -> tuple[int, BegunCall]:
        """Record a call, and return it with its number; raises CapRefusal if it may not be made.

        `make` gives the call, and raises unless what must hold does, in the same transaction.
        """
        with self._database.begin() as connection:
            call = make(connection)
            place = None if call.attempt_key is None else place_of_key(call.attempt_key)
            self._refuse_past_a_cap(call, model_calls.spent(connection, call.task_id, place))
            return model_calls.begin(connection, call), call

    def end(
        self, number: int, record: CallRecord, question: Mapping[str, Any] | None = None
    ) -> None:
        """Record how a call ended; if the database stays unavailable, only its start is known.

        `question` is what was asked, where `begin` did not say it.
        """
        self.write(model_calls.end, number, self._ended(record), question)

    def end_unsynced(
        self, number: int, begun: BegunCall, record: CallRecord, question: Mapping[str, Any]
    ) -> None:
        """The same for a call whose beginning was not awaited on the disk of the database.

        Tries once; raises what the database raises.
        """
        ended = self._ended(record)
        with self._database.begin() as connection:
            model_calls.end_unsynced(connection, number, begun, ended, question)

    def _ended(self, record: CallRecord) -> EndedCall:
        used = record.usage != Usage()
        cost = self._prices.cost(record.model, record.usage) if used else Decimal(0)
        return _result_row(record, cost)

    def write(self, write: Callable[..., None], number: int, *values: object) -> None:
        """Write what is known of a call, unless the database stays unavailable."""
        for pause in (*_PAUSES, 0.0):  # no pause goes without a try after it
            try:
                with self._database.begin() as connection:
                    write(connection, number, *values)
            except ReplanError as error:
                log.warning("call_not_recorded", call=number, reason=error.reason)
                time.sleep(pause)
            else:
                return

    def _refuse_past_a_cap(self, call: BegunCall, spent: Spent) -> None:
        task, question = f"T{call.task_id}", call.input_cost
        if question is None:
            if spent.cap or self._daily_cap or spent.budget:
                raise _unknown_price(call.model, task, capped=bool(spent.cap))
            return
        caps = (
            (Cap.BUDGET, spent.budget, spent.subtask),
            (Cap.TASK, spent.cap, spent.task),
            (Cap.DAY, self._daily_cap, spent.today),
        )
        for cap, limit, so_far in caps:
            if limit and is_spent(limit, so_far, question):
                reached = CapReached(cap, limit, so_far, question, call.model)
                raise CapRefusal(
                    replace(reached, reason=_say(reached, task)), _way_on(reached, task)
                )


def _say(reached: CapReached, task: str) -> str:
    spent, limit = f"${exact(reached.spent)}", f"${exact(reached.limit)}"
    left = reached.spent < reached.limit
    extra = f"; the next question alone costs about ${exact(reached.question)}" if left else ""
    match reached.cap:
        case Cap.BUDGET:
            return (
                f"models have cost {spent} for this subtask, which may cost {limit} "
                f"(cost_budget){extra}"
            )
        case Cap.TASK:
            return (
                f"models have cost {spent} for {task}, which may cost {limit} "
                f"(task_cost_cap){extra}"
            )
    return (
        f"models have cost {spent} today (UTC), and may cost {limit} a day{extra}: raise "
        "daily_cost_cap where the planners and the gateway run and restart them, or go on tomorrow"
    )


def _way_on(reached: CapReached, task: str) -> NextStep:
    match reached.cap:
        case Cap.BUDGET:
            return NextStep.of("plan calls", task)
        case Cap.TASK:
            return NextStep.of("task resume", task, cost_cap=str(reached.enough))
    return NextStep.of("task resume", task)


def _unknown_price(model: str, task: str, *, capped: bool) -> CapRefusal:
    reason = (
        f"the price of {model} is unknown, so no cap can be enforced: set its price where the "
        f"planners and the gateway run (model_prices, such as {model}=2/10, or {model}=0/0 if it "
        f"costs nothing) and restart them{', or lift the cap' if capped else ''}"
    )
    nothing = Decimal(0)
    return CapRefusal(
        CapReached(Cap.PRICE, nothing, nothing, nothing, model, reason),
        NextStep.of("task resume", task, cost_cap="0") if capped else NextStep.of("config show"),
    )


def _result_row(record: CallRecord, cost: Decimal | None) -> EndedCall:
    return EndedCall(
        input_tokens=record.usage.input_tokens,
        cache_read_tokens=record.usage.cache_read_tokens,
        cache_written_tokens=record.usage.cache_written_tokens,
        output_tokens=record.usage.output_tokens,
        cost=cost,
        seconds=record.seconds,
        stop_reason=record.stop_reason,
        request_id=record.request_id,
        error=record.error,
        reason=record.reason,
        answer=record.answer,
        estimated=record.estimated,
    )
