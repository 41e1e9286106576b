"""Accounts for calls to models: each is a row before it is made, and a cap stops the next."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from shared.domain.errors import Misconfigured
from shared.domain.facts import Fact
from shared.domain.jobs import Claim
from shared.domain.next_step import NextStep, ShellCommand, command_line
from shared.domain.spending import UNUSABLE
from shared.secrets.marks import MARK
from shared.settings import usual_data_dir
from shared.store import jobs, model_calls
from shared.store.database import Database
from shared.store.model_calls import BegunCall
from workers.call_ledger import CallLedger
from workers.llm.calls import CallRecord, ModelQuestion, ModelReply, Usage, estimate_tokens
from workers.llm.prices import Prices
from workers.llm.providers import SET_WHERE_PLANNERS_RUN
from workers.process.leases import Hold


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
    """The log of planners' calls, in the ledger, which also tells the caps. Thread-safe."""

    def __init__(
        self,
        database: Database,
        prices: Prices,
        daily_cap: float,
        find_up: Callable[[], Path | None] = lambda: None,
    ) -> None:
        """`find_up` finds the data folder of the `replan up` that runs this process."""
        self._database = database
        self._find_up = find_up
        self._ledger = CallLedger(database, prices, daily_cap)

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
                    raise self._with_place(error, f"T{hold.job.task_id}") from error

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
        call = _new_row(context, question, self._ledger.input_cost(question.model, asked))

        def make(connection: Any) -> BegunCall:
            if context.claim is not None:
                jobs.require_held(connection, context.claim, stage="model")
            return call

        number, _ = self._ledger.begin(make)
        return number

    def end(self, number: int, record: CallRecord) -> None:
        """Record how a call ended; if the database stays unavailable, only its start is known."""
        self._ledger.end(number, record)

    def refuse(self, number: int, reason: str) -> None:
        """Record that the answer of a call cannot be used, unless the database is unavailable."""
        self._ledger.write(model_calls.refuse, number, UNUSABLE, reason)

    def withdrawal(self) -> Callable[[], bool]:
        """Says, in any thread, whether nobody wants the answer to this thread's call any more."""
        return _CONTEXT.get().withdrawn

    def _with_place(self, error: Misconfigured, task: str) -> Misconfigured:
        """The error, with where its next command helps: not where a person reads it."""
        command, folder = error.next_step, None
        if command not in SET_WHERE_PLANNERS_RUN or not isinstance(command, ShellCommand):
            return error
        with suppress(Misconfigured):  # a file that is not trusted: this error counts more
            folder = self._find_up()
        if folder is not None:
            again = restart_with(command, folder, task)
            return Misconfigured(error.reason, stage=error.stage, next_step=again)
        return Misconfigured(
            f"{error.reason}; put it right where the planners run, start them again, then resume "
            "the task",
            stage=error.stage,
            next_step=command,
        )


def restart_with(command: ShellCommand, data_dir: Path, task: str) -> ShellCommand:
    """The line that runs `replan up` anew with what the command sets, and resumes the task."""
    usual = data_dir.absolute() == usual_data_dir(os.environ).absolute()
    folder = None if usual else data_dir
    down = NextStep.of("down", data_dir=folder)
    up = NextStep.of("up", data_dir=folder, detach=True)
    resume = NextStep.of("task resume", task)
    words = (command_line(down), command.text, command_line(up), command_line(resume))
    return ShellCommand("; ".join(words))


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
    said = {"system": list(question.system), "turns": turns, "now": question.now}
    if not question.repositories:
        return said
    return said | {
        "repositories": list(question.repositories),
        "runners": list(question.runners),
    }
