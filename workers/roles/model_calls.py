"""Accounts for calls to models: each is a row before it is made, and a cap stops the next."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import Any

import structlog

from shared.domain.errors import Misconfigured, ReplanError
from shared.domain.facts import Fact
from shared.domain.jobs import Claim
from shared.domain.next_step import NextStep
from shared.domain.spending import SPENDING, UNUSABLE, exact
from shared.secrets.marks import MARK
from shared.store import jobs, model_calls
from shared.store.database import Database
from shared.store.model_calls import BegunCall, EndedCall, Spent
from workers.llm.calls import CallRecord, ModelQuestion, ModelReply, Usage, estimate_tokens
from workers.llm.prices import Prices
from workers.llm.providers import SET_WHERE_PLANNERS_RUN
from workers.process.leases import Hold

log = structlog.get_logger()

_PAUSES = (0.1, 0.5, 2.0)
"""Seconds between tries to record the end of a call while the database is unavailable."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """What a call is made for; `replay_of` is the number of the call that it repeats.

    A worker makes no call for a job that it does not have any more under its `claim`, and ends one
    as soon as `withdrawn` says that nobody wants its answer.
    """

    task_id: int
    run_id: int | None = None
    step: int | None = None
    revision: int = 0
    job_id: int | None = None
    replay_of: int | None = None
    claim: Claim | None = None
    withdrawn: Callable[[], bool] = lambda: False

    @classmethod
    def of(cls, hold: Hold) -> "CallContext":
        """The context of a job in hand."""
        job = hold.job
        return cls(
            job.task_id,
            job.run_id,
            job.step,
            job.revision,
            job.id,
            claim=job.claim,
            withdrawn=hold.is_over,
        )


_CONTEXT: ContextVar[CallContext] = ContextVar("context of the calls that are made")


class ModelCalls:
    """The log of calls in Postgres; `daily_cap` is in dollars, 0 means no cap. Thread-safe.

    Spending is checked before each call. What the question alone is estimated to cost counts from
    the beginning, the whole call once it has ended. A call is not made if its question alone would
    exceed a cap. The longest possible answer is not held against a cap: it costs many times what
    answers cost, so nearly every cap would be reached long before it is spent. Planners that call
    at the same time can therefore exceed a cap by the answers then in progress, and by no others.
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
            with self.context(CallContext.of(hold)):
                try:
                    return perform(hold)
                except Misconfigured as error:
                    raise _with_place(error, f"T{hold.job.task_id}") from error

        return run

    def recall(self, question: ModelQuestion) -> ModelReply | None:
        """The answer that a lost worker has received to this question of the job; None if none has.

        An answer in which something was masked is not the answer that arrived: it is asked for
        again.
        """
        context = _CONTEXT.get()
        if context.claim is None or context.claim.fence == 1:
            return None
        turns = _question_json(question)["turns"]
        with self._database.begin() as connection:
            known = model_calls.answered(
                connection, context.claim.job, question.model, turns, also=UNUSABLE
            )
        if known is None or MARK.search(known.answer.encode()):
            return None
        return ModelReply(known.answer, Usage(), call=known.id)

    def begin(self, question: ModelQuestion) -> int:
        """Record a call; raises Misconfigured at stage `spending` if it may not be made.

        Raises Transient if another worker has the job.
        """
        context = _CONTEXT.get()
        asked = Usage(input_tokens=estimate_tokens(question.characters))
        input_cost = self._prices.cost(question.model, asked)
        with self._database.begin() as connection:
            if context.claim is not None:
                jobs.require_held(connection, context.claim, stage="model")
            spent = model_calls.spent(connection, context.task_id)
            self._refuse_past_a_cap(context, question, spent, input_cost)
            return model_calls.begin(connection, _new_row(context, question, input_cost))

    def end(self, number: int, record: CallRecord) -> None:
        """Record how a call ended; if the database stays unavailable, only its start is known."""
        used = record.usage != Usage()
        cost = self._prices.cost(record.model, record.usage) if used else Decimal(0)
        ended = _result_row(record, cost)
        self._write(model_calls.end, number, ended)

    def refuse(self, number: int, reason: str) -> None:
        """Record that the answer of a call cannot be used, unless the database is unavailable."""
        self._write(model_calls.refuse, number, UNUSABLE, reason)

    def withdrawal(self) -> Callable[[], bool]:
        """Says, in any thread, whether nobody wants the answer to this thread's call any more."""
        return _CONTEXT.get().withdrawn

    def _write(self, write: Callable[..., None], number: int, *values: object) -> None:
        for pause in _PAUSES:
            try:
                with self._database.begin() as connection:
                    write(connection, number, *values)
            except ReplanError as error:
                log.warning("call_not_recorded", call=number, reason=error.reason)
                time.sleep(pause)
            else:
                return

    def _refuse_past_a_cap(
        self,
        context: CallContext,
        question: ModelQuestion,
        spent: Spent,
        input_cost: Decimal | None,
    ) -> None:
        task = f"T{context.task_id}"
        if input_cost is None:
            if spent.cap or self._daily_cap:
                raise _unknown_price(question.model, task, capped=bool(spent.cap))
            return
        extra = f"; the next question alone costs about ${exact(input_cost)}"
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


def _with_place(error: Misconfigured, task: str) -> Misconfigured:
    """The error, with where its next command has to be typed: not where a person reads it."""
    if error.next_step not in SET_WHERE_PLANNERS_RUN:
        return error
    return Misconfigured(
        f"{error.reason}; put it right where the planners run (`replan up`, or their workers), "
        f"start them again, then resume the task: replan task resume {task}",
        stage=error.stage,
        next_step=error.next_step,
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


def _new_row(
    context: CallContext, question: ModelQuestion, input_cost: Decimal | None
) -> BegunCall:
    return BegunCall(
        task_id=context.task_id,
        run_id=context.run_id,
        step=context.step,
        revision=context.revision,
        job_id=context.job_id,
        replay_of=context.replay_of,
        input_cost=input_cost,
        fence=None if context.claim is None else context.claim.fence,
        role=question.role,
        purpose=question.purpose,
        prompt=question.prompt,
        model=question.model,
        effort=question.effort,
        question=_question_json(question),
    )


def _question_json(question: ModelQuestion) -> dict[str, Any]:
    turns = [
        {"speaker": turn.speaker.value, "text": turn.text, "breaks": list(turn.breaks)}
        for turn in question.turns
    ]
    return {"system": list(question.system), "turns": turns, "now": question.now}


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
