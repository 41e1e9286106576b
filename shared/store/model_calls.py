"""Calls to models in rows: recorded before they are made, so that each is counted."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Label, func, insert, literal_column, select, text, update

from shared.domain.ids import AttemptPlace
from shared.domain.spending import SPENDING
from shared.store.budgets import parameters_of
from shared.store.tables import JobRow, ModelCallRow, TaskRow

_BUDGET = text("""
    WITH place AS (
        SELECT CAST(:run_id AS bigint) AS run_id, CAST(:step AS bigint) AS step,
               CAST(:revision AS bigint) AS revision, CAST(:subtask AS bigint) AS subtask
    )
    SELECT coalesce(cost_cap, (policy ->> 'task_cost_cap')::numeric, 0) AS cap,
           (SELECT coalesce(sum(coalesce(cost, input_cost)), 0) FROM model_calls
            WHERE task_id = :task_id) AS spent,
           (SELECT coalesce(sum(coalesce(cost, input_cost)), 0) FROM model_calls
            WHERE started_at >= date_trunc('day', clock_timestamp(), 'UTC')) AS today,
           coalesce((
               SELECT coalesce(raised, planned)
               FROM agent_budgets JOIN place USING (run_id, step, revision, subtask)
           ), 0) AS budget,
           (SELECT coalesce(sum(coalesce(cost, input_cost)), 0) FROM model_calls
            WHERE attempt_key = ANY(ARRAY(
                SELECT key FROM attempts JOIN place USING (run_id, step, revision, subtask)
                UNION SELECT CAST(:key AS text)
            ))) AS subtask
    FROM tasks WHERE id = :task_id
""")

_OF_ATTEMPTS = text("""
    SELECT attempt_key,
           count(*) FILTER (WHERE error IS DISTINCT FROM :cap) AS calls,
           coalesce(sum(input_tokens + cache_read_tokens + cache_written_tokens + output_tokens), 0)
               AS tokens,
           coalesce(sum(coalesce(cost, input_cost)), 0) AS cost,
           coalesce(bool_or(estimated OR cost IS NULL), FALSE) AS estimated,
           coalesce(max(reason) FILTER (WHERE error = :cap), '') AS refused
    FROM model_calls WHERE attempt_key = ANY(CAST(:keys AS text[]))
    GROUP BY attempt_key
""")

_SIGNS_OF_ATTEMPT = text("""
    SELECT coalesce(sum(input_tokens + cache_read_tokens + cache_written_tokens + output_tokens), 0)
               AS tokens,
           coalesce(sum(heard), 0) AS heard,
           count(*) FILTER (WHERE under_way) AS requests,
           count(*) FILTER (WHERE under_way AND heard > 0) AS answered,
           coalesce(bool_or(under_way AND provider_away), FALSE) AS provider_away
    FROM (
        SELECT *, ended_at IS NULL
            AND coalesce(seen_at, started_at) > clock_timestamp() - interval '1 minute' AS under_way
        FROM model_calls WHERE attempt_key = :attempt_key
    ) AS calls
""")

_LOST: Label[bool] = literal_column("""
    ended_at IS NULL AND (
        started_at < clock_timestamp() - interval '1 day'
        OR job_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM jobs
            WHERE jobs.id = job_id AND jobs.lease_until > clock_timestamp()
              AND jobs.fence = coalesce(model_calls.fence, jobs.fence)
        )
        OR attempt_key IS NOT NULL AND EXISTS (
            SELECT FROM attempts
            WHERE attempts.key = model_calls.attempt_key AND attempts.outcome <> 'running'
        )
    )
""").label("lost")
"""No call lasts a day; one ends with the claim of its worker, or with the attempt of its agent."""


_NOTE_UNDER_WAY = text("""
    UPDATE model_calls
    SET heard = said.heard, provider_away = said.away, seen_at = clock_timestamp()
    FROM unnest(CAST(:numbers AS bigint[]), CAST(:heard AS bigint[]), CAST(:away AS boolean[]))
        AS said(number, heard, away)
    WHERE id = said.number AND ended_at IS NULL
""")


@dataclass(frozen=True, slots=True)
class Spent:
    """In dollars: the cap (0: none) and cost of a task so far, and the cost of today (UTC).

    For an agent, `budget` is that of its subtask (0: none), and `subtask` what the attempts of that
    subtask have cost so far in the same revision.
    """

    cap: Decimal
    task: Decimal
    today: Decimal
    budget: Decimal = Decimal(0)
    subtask: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class AttemptSpending:
    """What the models of one attempt of an agent have cost; `cost` in dollars.

    `estimated` says that a part of it is an estimate, and `refused` why the gateway passed a
    request not on that would exceed a cap; empty if it passed all.
    """

    calls: int
    tokens: int
    cost: Decimal
    estimated: bool
    refused: str


@dataclass(frozen=True, slots=True)
class CallSigns:
    """What happens at the gateway for an attempt of an agent.

    `tokens` and `heard` (bytes of answers) only grow. `requests` are under way, `answered` of these
    have an answer that has begun, and `provider_away` says that the gateway waits to repeat one.
    """

    tokens: int
    heard: int
    requests: int
    answered: int
    provider_away: bool


@dataclass(frozen=True, slots=True)
class CallUnderWay:
    """How far the gateway is with a call: see `CallSigns`."""

    number: int
    heard: int
    provider_away: bool


@dataclass(frozen=True, slots=True)
class BegunCall:
    """A call that is about to be made. `question` holds `system` and `turns`, without secrets.

    `input_cost` is what the question alone is estimated to cost, in dollars; `fence` is that of the
    claim under which it is made.
    """

    task_id: int
    run_id: int | None
    step: int | None
    revision: int
    job_id: int | None
    role: str
    purpose: str
    prompt: str
    model: str
    effort: str | None
    question: dict[str, Any]
    replay_of: int | None = None
    input_cost: Decimal | None = None
    fence: int | None = None
    attempt_key: str | None = None


@dataclass(frozen=True, slots=True)
class EndedCall:
    """How a call ended; `cost` in dollars is None where nobody knows the price.

    `refused` is the cap (`CapReached`) for which it was not made.
    """

    input_tokens: int
    cache_read_tokens: int
    cache_written_tokens: int
    output_tokens: int
    cost: Decimal | None
    seconds: float
    stop_reason: str | None
    request_id: str | None
    error: str | None
    reason: str
    answer: str | None
    estimated: bool = False
    refused: dict[str, Any] | None = None


def spent(connection: Connection, task_id: int, place: AttemptPlace | None = None) -> Spent:
    """What was spent and what may be; a call whose cost is unknown counts for its question.

    `place` is that of the attempt of an agent.
    """
    row = connection.execute(_BUDGET, {"task_id": task_id, **parameters_of(place)}).one()
    return Spent(row.cap, row.spent, row.today, row.budget, row.subtask)


def spent_by_attempt(connection: Connection, attempt_key: str) -> AttemptSpending:
    """What the models of an attempt have cost so far, counted as in `spent`."""
    found = spent_by_attempts(connection, [attempt_key])
    return found.get(attempt_key, AttemptSpending(0, 0, Decimal(0), False, ""))


def spent_by_attempts(connection: Connection, keys: Sequence[str]) -> dict[str, AttemptSpending]:
    """The same for several attempts, by key; those without a call are left out."""
    rows = connection.execute(_OF_ATTEMPTS, {"keys": list(keys), "cap": SPENDING})
    return {
        row.attempt_key: AttemptSpending(
            row.calls, int(row.tokens), row.cost, row.estimated, row.refused
        )
        for row in rows
    }


def signs_of_attempt(connection: Connection, attempt_key: str) -> CallSigns:
    """What happens at the gateway for an attempt now.

    A call of which the gateway has not spoken for a minute is not under way: it was killed.
    """
    row = connection.execute(_SIGNS_OF_ATTEMPT, {"attempt_key": attempt_key}).one()
    return CallSigns(row.tokens, row.heard, row.requests, row.answered, row.provider_away)


def note_under_way(connection: Connection, calls: Sequence[CallUnderWay]) -> None:
    """Say how far the gateway is with these calls, as often as it says so."""
    connection.execute(
        _NOTE_UNDER_WAY,
        {
            "numbers": [call.number for call in calls],
            "heard": [call.heard for call in calls],
            "away": [call.provider_away for call in calls],
        },
    )


def begin(connection: Connection, call: BegunCall) -> int:
    """Record a call that is about to be made; returns its number."""
    values = {**asdict(call), "question": _safe(call.question)}
    entered = insert(ModelCallRow).values(values).returning(ModelCallRow.id)
    return connection.execute(entered).scalar_one()


def end(
    connection: Connection,
    number: int,
    ended: EndedCall,
    question: Mapping[str, Any] | None = None,
) -> None:
    """Record how the call ended, and its question if the row does not have it yet."""
    connection.execute(
        update(ModelCallRow).where(ModelCallRow.id == number).values(_end(ended, question))
    )


def end_unsynced(
    connection: Connection,
    number: int,
    begun: BegunCall,
    ended: EndedCall,
    question: Mapping[str, Any] | None = None,
) -> None:
    """Record how a call ended whose beginning Postgres may have lost in a crash.

    The whole call is then recorded again: its number may be that of another call by now.
    """
    row = ModelCallRow
    own = row.id == number, row.attempt_key == begun.attempt_key
    open_or_told_twice = row.ended_at.is_(None) | (row.seconds == ended.seconds)
    values = _end(ended, question)
    known = connection.execute(update(row).where(*own, open_or_told_twice).values(values))
    if not known.rowcount:
        connection.execute(insert(row).values({**asdict(begun), **values}))


def _end(ended: EndedCall, question: Mapping[str, Any] | None) -> dict[str, Any]:
    more = {} if question is None else {"question": _safe(question)}
    return {**_safe(asdict(ended)), **more, "ended_at": func.clock_timestamp()}


def answered(
    connection: Connection, job: int, model: str, turns: Sequence[Any], *, also: str
) -> Any | None:
    """The newest call of a job with these turns that has its whole answer; None if none has.

    One that ended with the error `also` has it, too.
    """
    table = ModelCallRow.__table__
    task = select(JobRow.task_id).where(JobRow.id == job).scalar_subquery()
    query = select(table.c.id, table.c.answer).where(
        table.c.task_id == task,
        table.c.job_id == job,
        table.c.model == model,
        table.c.answer.is_not(None),
        table.c.ended_at.is_not(None),
        func.coalesce(table.c.error, also) == also,
        table.c.question["turns"] == _safe(turns),
    )
    return connection.execute(query.order_by(table.c.id.desc()).limit(1)).one_or_none()


def refuse(connection: Connection, number: int, error: str, reason: str) -> None:
    """Record that the answer of a call that has ended cannot be used."""
    connection.execute(
        update(ModelCallRow)
        .where(ModelCallRow.id == number)
        .values({"error": error, "reason": _safe(reason)})
    )


def of_task(connection: Connection, task_id: int) -> Sequence[Any]:
    """The rows of a task's calls, oldest first, without questions and answers.

    In `lost` is whether a call has not ended and nobody makes it any more.
    """
    table = ModelCallRow.__table__
    shown = [column for column in table.c if column.name not in {"question", "answer"}]
    query = select(*shown, _LOST).where(table.c.task_id == task_id).order_by(table.c.id)
    return connection.execute(query).all()


def find(connection: Connection, number: int) -> Any | None:
    """The whole row of a call; None when there is none."""
    query = select(ModelCallRow.__table__).where(ModelCallRow.id == number)
    return connection.execute(query).one_or_none()


def set_cap(connection: Connection, task_id: int, dollars: Decimal) -> None:
    """Change the cap on a task's model costs; 0 means no cap."""
    connection.execute(update(TaskRow).where(TaskRow.id == task_id).values(cost_cap=dollars))


def _safe(value: Any) -> Any:
    """The same without what Postgres text cannot hold: NUL and lone surrogates."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: _safe(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(each) for each in value]
    return value
