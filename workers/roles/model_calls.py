"""Accounts for calls to models: each is a row before it is made, and a cap stops the next."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

import structlog

from shared.domain.errors import Misconfigured, ReplanError
from shared.domain.facts import Fact
from shared.domain.jobs import Claim, Job
from shared.domain.next_step import NextStep
from shared.domain.spending import SPENDING
from shared.store import jobs, model_calls
from shared.store.database import Database
from shared.store.model_calls import BegunCall, EndedCall, Spent
from workers.llm.calls import CallRecord, ModelQuestion, Usage
from workers.llm.prices import Prices
from workers.process.leases import Hold

log = structlog.get_logger()

_PAUSES = (0.1, 0.5, 2.0)
"""Seconds between tries to record the end of a call while the database is unavailable."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """What a call is made for; `replay_of` is the number of the call that it repeats.

    A worker makes no call for a job that it does not have any more under its `claim`.
    """

    task_id: int
    run_id: int | None = None
    step: int | None = None
    revision: int = 0
    job_id: int | None = None
    replay_of: int | None = None
    claim: Claim | None = None

    @classmethod
    def of(cls, job: Job) -> "CallContext":
        """The context of a job."""
        return cls(job.task_id, job.run_id, job.step, job.revision, job.id, claim=job.claim)


_CONTEXT: ContextVar[CallContext] = ContextVar("context of the calls that are made")


class ModelCalls:
    """The log of calls in Postgres; `daily_cap` is in dollars, 0 means no cap. Thread-safe.

    Spending is checked before each call and counted after it. Planners that call at the same time
    can exceed a cap by the calls then in progress, and by no others.
    """

    def __init__(self, database: Database, prices: Prices, daily_cap: float) -> None:
        self._database = database
        self._prices = prices
        self._daily_cap = Decimal(str(daily_cap))

    @contextmanager
    def context(self, context: CallContext) -> Iterator[None]:
        """Attribute the calls that this thread makes within the block to that context."""
        token = _CONTEXT.set(context)
        try:
            yield
        finally:
            _CONTEXT.reset(token)

    def account_for(self, perform: Callable[[Hold], Fact]) -> Callable[[Hold], Fact]:
        """The same work, with its calls attributed to its job."""

        def run(hold: Hold) -> Fact:
            with self.context(CallContext.of(hold.job)):
                return perform(hold)

        return run

    def begin(self, question: ModelQuestion) -> int:
        """Record a call; raises Misconfigured at stage `spending` if it may not be made.

        Raises Transient if another worker has the job.
        """
        context = _CONTEXT.get()
        with self._database.begin() as connection:
            if context.claim is not None:
                jobs.require_held(connection, context.claim, stage="model")
            self._refuse_past_a_cap(
                context, question, model_calls.spent(connection, context.task_id)
            )
            return model_calls.begin(connection, _new_row(context, question))

    def end(self, number: int, record: CallRecord) -> None:
        """Record how a call ended; if the database stays unavailable, only its start is known."""
        used = record.usage != Usage()
        cost = self._prices.cost(record.model, record.usage) if used else Decimal(0)
        ended = _result_row(record, cost)
        for pause in _PAUSES:
            try:
                with self._database.begin() as connection:
                    model_calls.end(connection, number, ended)
            except ReplanError as error:
                log.warning("call_not_recorded", call=number, reason=error.reason)
                time.sleep(pause)
            else:
                return

    def _refuse_past_a_cap(
        self, context: CallContext, question: ModelQuestion, spent: Spent
    ) -> None:
        task = f"T{context.task_id}"
        if (spent.cap or self._daily_cap) and self._prices.price(question.model) is None:
            raise _refusal(
                f"the price of {question.model} is unknown, so no cap can be enforced: set its "
                "price (model_prices) where the planners run, or lift the cap",
                NextStep.of("task resume", task, cost_cap="0")
                if spent.cap
                else NextStep.of("config show"),
            )
        if 0 < spent.cap <= spent.task:
            raise _refusal(
                f"models have cost ${_dollars(spent.task)} for {task}, which may cost "
                f"${_dollars(spent.cap)} (task_cost_cap)",
                NextStep.of("task resume", task, cost_cap=_more(spent.cap, spent.task)),
            )
        if 0 < self._daily_cap <= spent.today:
            raise _refusal(
                f"models have cost ${_dollars(spent.today)} today (UTC), and may cost "
                f"${_dollars(self._daily_cap)} a day: raise daily_cost_cap where the "
                "planners run and restart them, or go on tomorrow",
                NextStep.of("task resume", task),
            )


def _refusal(reason: str, next_step: NextStep) -> Misconfigured:
    return Misconfigured(reason, stage=SPENDING, next_step=next_step)


def _more(cap: Decimal, spent: Decimal) -> str:
    """Twice the cap or the amount spent, whichever is more, rounded up to whole cents."""
    return str((2 * max(cap, spent)).quantize(Decimal("0.01"), ROUND_UP))


def _dollars(dollars: Decimal) -> str:
    return f"{dollars:.4f}" if dollars % Decimal("0.01") else f"{dollars:.2f}"


def _new_row(context: CallContext, question: ModelQuestion) -> BegunCall:
    return BegunCall(
        task_id=context.task_id,
        run_id=context.run_id,
        step=context.step,
        revision=context.revision,
        job_id=context.job_id,
        replay_of=context.replay_of,
        role=question.role,
        purpose=question.purpose,
        prompt=question.prompt,
        model=question.model,
        effort=question.effort,
        question={
            "system": list(question.system),
            "turns": [
                {"speaker": turn.speaker.value, "text": turn.text} for turn in question.turns
            ],
        },
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
    )
