"""The tables of calls to models, and of what agents may spend on them."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import ForeignKey, Index, false, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.row import DOLLARS, Row, now, number


class ModelCallRow(Row):
    """A call to a model, recorded before it is made; `ended_at` is empty while it lasts.

    `cost` is in dollars, and empty if it is not known: the price is not known, or the call has not
    ended. It then counts for `input_cost`, the estimated cost of its question alone. `estimated`
    says that the answer broke off, so that its tokens are estimated. `fence` is that of the claim
    of the job for which the call was made; `attempt_key` names the attempt of the agent that made
    it through the gateway; `refused` is the cap that kept it from being made. `question` and
    `answer` are stored without secrets, so that another model can be asked the same; `replay_of` is
    the call that this one repeats.
    Of a call through the gateway, `heard` counts the bytes of its answer, `provider_away` says that
    the gateway waits to repeat it, and `seen_at` is when the gateway last said so.
    """

    __tablename__ = "model_calls"

    id: Mapped[int] = number()
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id", ondelete="CASCADE"))
    run_id: Mapped[int | None]
    step: Mapped[int | None]
    revision: Mapped[int]
    job_id: Mapped[int | None]
    replay_of: Mapped[int | None]
    role: Mapped[str]
    purpose: Mapped[str]
    prompt: Mapped[str]
    model: Mapped[str]
    effort: Mapped[str | None]
    attempt_key: Mapped[str | None]
    question: Mapped[dict[str, Any]]
    answer: Mapped[str | None]
    input_tokens: Mapped[int] = mapped_column(server_default=text("0"))
    cache_read_tokens: Mapped[int] = mapped_column(server_default=text("0"))
    cache_written_tokens: Mapped[int] = mapped_column(server_default=text("0"))
    output_tokens: Mapped[int] = mapped_column(server_default=text("0"))
    cost: Mapped[Decimal | None] = mapped_column(DOLLARS)
    input_cost: Mapped[Decimal | None] = mapped_column(DOLLARS)
    estimated: Mapped[bool] = mapped_column(server_default=false())
    fence: Mapped[int | None]
    seconds: Mapped[float | None]
    stop_reason: Mapped[str | None]
    request_id: Mapped[str | None]
    error: Mapped[str | None]
    reason: Mapped[str] = mapped_column(server_default="")
    heard: Mapped[int | None]
    provider_away: Mapped[bool | None]
    seen_at: Mapped[datetime | None]
    refused: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    started_at: Mapped[datetime] = now()
    ended_at: Mapped[datetime | None]

    __table_args__ = (
        Index("ix_model_calls_task_id", "task_id", "id"),
        Index("ix_model_calls_started_at", "started_at"),
        Index(
            "ix_model_calls_attempt_key",
            "attempt_key",
            postgresql_where=text("attempt_key IS NOT NULL"),
        ),
    )


class AgentBudgetRow(Row):
    """What the agents of a subtask may spend on models in one revision, in dollars; 0: no budget.

    Whoever starts an agent writes what is `planned`; a person's word, in `raised`, replaces it.
    """

    __tablename__ = "agent_budgets"

    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True)
    subtask: Mapped[int] = mapped_column(primary_key=True)
    planned: Mapped[Decimal | None] = mapped_column(DOLLARS)
    raised: Mapped[Decimal | None] = mapped_column(DOLLARS)
