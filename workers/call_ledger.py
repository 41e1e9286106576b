"""The ledger of calls to models: each is a row before it is made, and a cap stops the next."""

import time
from collections.abc import Callable, Mapping
from decimal import ROUND_UP, Decimal
from typing import Any

import structlog

from shared.domain.errors import Misconfigured, ReplanError
from shared.domain.next_step import NextStep
from shared.domain.spending import SPENDING, exact
from shared.store import model_calls
from shared.store.database import Database
from shared.store.model_calls import BegunCall, EndedCall, Spent
from workers.llm.calls import CallRecord, Usage
from workers.llm.prices import Prices

log = structlog.get_logger()

_PAUSES = (0.1, 0.5, 2.0)
"""Seconds between tries to record the end of a call while the database is unavailable."""


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

    def begin(
        self,
        make: Callable[[Any], BegunCall],
        budget: Decimal = Decimal(0),
    ) -> int:
        """Record a call; raises Misconfigured at stage `spending` if it may not be made.

        `make` gives the call, and raises unless what must hold does, in the same transaction.
        `budget` caps the calls of the attempt that it is made for; 0: no cap.
        """
        with self._database.begin() as connection:
            call = make(connection)
            spent = model_calls.spent(connection, call.task_id, call.attempt_key)
            self._refuse_past_a_cap(call, spent, budget)
            return model_calls.begin(connection, call)

    def end(
        self, number: int, record: CallRecord, question: Mapping[str, Any] | None = None
    ) -> None:
        """Record how a call ended; if the database stays unavailable, only its start is known.

        `question` is what was asked, where `begin` did not say it.
        """
        used = record.usage != Usage()
        cost = self._prices.cost(record.model, record.usage) if used else Decimal(0)
        self.write(model_calls.end, number, _result_row(record, cost), question)

    def write(self, write: Callable[..., None], number: int, *values: object) -> None:
        """Write what is known of a call, unless the database stays unavailable."""
        for pause in _PAUSES:
            try:
                with self._database.begin() as connection:
                    write(connection, number, *values)
            except ReplanError as error:
                log.warning("call_not_recorded", call=number, reason=error.reason)
                time.sleep(pause)
            else:
                return

    def _refuse_past_a_cap(self, call: BegunCall, spent: Spent, budget: Decimal) -> None:
        task, input_cost = f"T{call.task_id}", call.input_cost
        if input_cost is None:
            if spent.cap or self._daily_cap or budget:
                raise _unknown_price(call.model, task, capped=bool(spent.cap))
            return
        extra = f"; the next question alone costs about ${exact(input_cost)}"
        if budget and _is_spent(budget, spent.attempt, input_cost):
            raise _refusal(
                f"models have cost ${exact(spent.attempt)} for this attempt, which may cost "
                f"${exact(budget)} (its budget){extra if spent.attempt < budget else ''}",
                NextStep.of("plan calls", task),
            )
        if spent.cap and _is_spent(spent.cap, spent.task, input_cost):
            wanted = spent.task if spent.task >= spent.cap else spent.task + input_cost
            raise _refusal(
                f"models have cost ${exact(spent.task)} for {task}, which may cost "
                f"${exact(spent.cap)} (task_cost_cap){extra if spent.task < spent.cap else ''}",
                NextStep.of("task resume", task, cost_cap=_more(spent.cap, wanted)),
            )
        if self._daily_cap and _is_spent(self._daily_cap, spent.today, input_cost):
            raise _refusal(
                f"models have cost ${exact(spent.today)} today (UTC), and may cost "
                f"${exact(self._daily_cap)} a day{extra if spent.today < self._daily_cap else ''}: "
                "raise daily_cost_cap where the planners run and restart them, or go on tomorrow",
                NextStep.of("task resume", task),
            )


def _is_spent(cap: Decimal, spent: Decimal, input_cost: Decimal) -> bool:
    return spent >= cap or spent + input_cost > cap


def _unknown_price(model: str, task: str, *, capped: bool) -> Misconfigured:
    return _refusal(
        f"the price of {model} is unknown, so no cap can be enforced: set its price where the "
        f"planners run (model_prices, such as {model}=2/10, or {model}=0/0 if it costs nothing) "
        "and restart them, or lift the cap",
        NextStep.of("task resume", task, cost_cap="0") if capped else NextStep.of("config show"),
    )


def _refusal(reason: str, next_step: NextStep) -> Misconfigured:
    return Misconfigured(reason, stage=SPENDING, next_step=next_step)


def _more(cap: Decimal, spent: Decimal) -> str:
    """Twice the cap or the amount, whichever is more, rounded up to whole cents."""
    return str((2 * max(cap, spent)).quantize(Decimal("0.01"), ROUND_UP))


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
