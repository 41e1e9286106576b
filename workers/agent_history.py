"""What the attempts of agents have taken so far, for those who plan with agents."""

from collections.abc import Iterable

from sqlalchemy import Connection, text

from shared.domain.outcome import GREEN
from shared.store.attempts import RUNNING
from shared.store.sql_list import sql_list
from workers.planning import AgentHistory

NEWEST = 50_000
"""How many of the newest attempts, of commands too, are looked through."""

MOST = 2**53
"""No figure is larger: one that a program has made up must not stop whoever plans there."""

_GREEN = sql_list(GREEN)


def _figure(name: str) -> str:
    """The SQL of a number in the body, which fits a float whatever it is."""
    said = f"(a.body ->> '{name}')::numeric"
    return f"round(CASE WHEN {said} > {MOST} THEN {MOST} ELSE {said} END, 6)::float8"


_TAKEN = text(f"""
    SELECT runner, repository, count(*) AS attempts,
        count(*) FILTER (WHERE outcome IN ({_GREEN})) AS succeeded,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::float8 AS seconds,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY tokens)::float8 AS tokens,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)::float8 AS cost
    FROM (
        SELECT a.body ->> 'runner' AS runner, a.outcome,
            coalesce(planned.body ->> 'repository', runs.target) AS repository,
            extract(epoch FROM (a.body ->> 'ended_at')::timestamptz
                - (a.body ->> 'started_at')::timestamptz)::float8 AS seconds,
            {_figure("tokens")} AS tokens, {_figure("cost")} AS cost
        FROM attempts a
        JOIN runs ON runs.id = a.run_id
        LEFT JOIN planned_steps planned ON planned.run_id = a.run_id AND planned.step = a.step
        WHERE a.id > (SELECT max(id) FROM attempts) - :newest
          AND a.body IS NOT NULL AND a.outcome <> '{RUNNING}'
    ) taken
    WHERE repository = ANY(:repositories) AND runner <> ''
    GROUP BY runner, repository ORDER BY repository, runner
""")  # noqa: S608 - constants


def history_in(connection: Connection, repositories: Iterable[str]) -> tuple[AgentHistory, ...]:
    """The figures of the newest attempts in these repositories, by repository and agent."""
    asked = {"newest": NEWEST, "repositories": list(repositories)}
    return tuple(AgentHistory(*row) for row in connection.execute(_TAKEN, asked))
