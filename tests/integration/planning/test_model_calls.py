"""The log of calls in Postgres: recorded before they are made, refused past a cap, never lost."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.acts.submission import Submission, submit
from shared.domain.config import Policy
from shared.domain.errors import Misconfigured
from shared.domain.next_step import command_line
from shared.domain.spending import SPENDING
from shared.store import model_calls
from shared.store.database import Database
from tests.fakes.model_server import Says, model_server
from tests.unit.planning.given import PLAN_REQUEST, plan_answer, step_answer
from workers import call_ledger
from workers.llm.backend import ModelBackend
from workers.llm.calls import CallRecord, ModelQuestion, Usage
from workers.llm.model import LanguageModel
from workers.llm.prices import Prices
from workers.llm.settings import LlmSettings
from workers.roles.model_calls import CallContext, ModelCalls

CENT = CallRecord("plan", "plan.v1", "dear", 1.0, Usage(input_tokens=1000))
"""A call that costs a cent."""

QUESTION = ModelQuestion(
    purpose="plan",
    role="planner",
    prompt="plan.v1",
    model="dear",
    system=("house",),
    turns=(),
    schema={},
)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Two tasks were submitted, the first with a cap of a cent."""
    made = Database(database_url, pooled=False)
    for cap in (0.01, 0.0):
        policy = Policy(task_cost_cap=cap)
        submit(made, Submission(prompt="p", targets=("localhost",), policy=policy))
    yield made
    made.close()


def calls_on(database: Database, daily_cap: float = 0.0) -> ModelCalls:
    """The log of a worker."""
    return ModelCalls(database, Prices(["dear=10/10"]), daily_cap)


def rows(database: Database, query: str) -> list[Any]:
    """The rows of a query."""
    with database.begin() as connection:
        return list(connection.execute(text(query)).all())


def test_planners_that_ask_at_once_go_over_a_cap_by_what_is_in_flight_and_no_more(
    database: Database,
) -> None:
    one, other = calls_on(database), calls_on(database)
    with one.context(CallContext(1)):
        first = one.begin(QUESTION)
        with other.context(CallContext(1)):
            second = other.begin(QUESTION)
        one.end(first, CENT)
        other.end(second, CENT)
        with pytest.raises(Misconfigured) as refused:
            one.begin(QUESTION)
    assert refused.value.stage == SPENDING
    assert command_line(refused.value.next_step) == "replan task resume T1 --cost-cap 0.04"
    assert rows(database, "SELECT sum(cost), count(*) FROM model_calls") == [(Decimal("0.02"), 2)]
    with database.begin() as connection:
        model_calls.set_cap(connection, 1, Decimal("0.04"))
    with one.context(CallContext(1)):
        assert one.begin(QUESTION)


def test_a_question_that_alone_exceeds_a_cap_is_not_asked(database: Database) -> None:
    """A call costs a cent if nobody has said so yet; what is left is a third of that."""
    calls = calls_on(database)
    long = replace(QUESTION, system=("x" * 3000,))
    with calls.context(CallContext(1)):
        calls.end(calls.begin(QUESTION), replace(CENT, usage=Usage(input_tokens=500)))
        with pytest.raises(Misconfigured) as refused:
            calls.begin(long)
    assert "have cost $0.005 for T1, which may cost $0.01" in refused.value.reason
    assert "the next question alone costs about $0.01" in refused.value.reason
    assert command_line(refused.value.next_step) == "replan task resume T1 --cost-cap 0.03"


def test_a_cap_is_told_with_all_its_digits(database: Database) -> None:
    with database.begin() as connection:
        model_calls.set_cap(connection, 1, Decimal("0.00001"))
    calls = calls_on(database)
    with calls.context(CallContext(1)), pytest.raises(Misconfigured, match=r"cost \$0\.00001 "):
        calls.begin(QUESTION)


def test_an_answer_that_is_refused_says_why(database: Database) -> None:
    calls = calls_on(database)
    with calls.context(CallContext(1)):
        number = calls.begin(QUESTION)
    calls.end(number, CENT)
    calls.refuse(number, "no JSON \0 at all")
    assert rows(database, "SELECT error, reason FROM model_calls") == [
        ("unusable", "no JSON  at all")
    ]


def test_what_one_task_may_cost_is_not_what_another_may(database: Database) -> None:
    calls = calls_on(database, daily_cap=0.02)
    for task, wanted in ((1, "task_cost_cap"), (2, "daily_cost_cap")):
        with calls.context(CallContext(task)):
            calls.end(calls.begin(QUESTION), CENT)
            with pytest.raises(Misconfigured, match=wanted):
                calls.begin(QUESTION)


def test_yesterday_counts_for_the_task_and_not_for_the_day(database: Database) -> None:
    calls = calls_on(database, daily_cap=0.01)
    with calls.context(CallContext(2)):
        calls.end(calls.begin(QUESTION), CENT)
        rows(database, "UPDATE model_calls SET started_at = now() - interval '1 day' RETURNING 1")
        assert calls.begin(QUESTION)
    with database.begin() as connection:
        assert model_calls.spent(connection, 2).task == Decimal("0.01002"), "what runs counts"


def test_a_call_whose_worker_vanished_is_there_without_an_end(database: Database) -> None:
    calls = calls_on(database)
    with calls.context(CallContext(1, step=3, revision=2, job_id=77)):
        calls.begin(QUESTION)
    (row,) = rows(database, "SELECT * FROM model_calls")
    assert (row.task_id, row.step, row.revision, row.job_id) == (1, 3, 2, 77)
    assert (row.ended_at, row.cost, row.model, row.role) == (None, None, "dear", "planner")
    with database.begin() as connection:
        assert model_calls.spent(connection, 1).task == row.input_cost == Decimal("0.00002")
        (listed,) = model_calls.of_task(connection, 1)
    assert listed.lost


def test_an_answer_that_was_paid_for_is_not_thrown_away_when_it_cannot_be_entered(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_ledger, "_PAUSES", (0.0, 0.0))
    calls = calls_on(database)
    with calls.context(CallContext(1)):
        number = calls.begin(QUESTION)
    gone = Database("postgresql+psycopg://nobody@127.0.0.1:1/none", pooled=False)
    calls_on(gone).end(number, CENT)
    gone.close()
    assert rows(database, "SELECT ended_at FROM model_calls") == [(None,)]


def test_what_is_kept_holds_no_secret_and_nothing_that_postgres_refuses(
    database: Database,
) -> None:
    calls = calls_on(database)
    with model_server() as server, calls.context(CallContext(2)):
        settings = LlmSettings(api_key="k", base_url=server.url)
        model = LanguageModel(
            settings, log=calls, mask=lambda said: said.replace("hunter2", "‹secret:PW›")
        )
        server.will(Says(plan_answer(step_answer("a", title="hunter2 \0 \ud800"))))
        server.will(Says(plan_answer(step_answer("a"))))
        request = type(PLAN_REQUEST)("Set it to hunter2", (), PLAN_REQUEST.policy)
        ModelBackend(model, settings).plan(request)
        model.close()
        sent = "\n".join(said for asked in server.asked for said in asked.said)
    kept = "\n".join(
        f"{row.question}{row.answer}{row.reason}" for row in rows(database, "TABLE model_calls")
    )
    assert "‹secret:PW›" in sent
    assert "‹secret:PW›" in kept
    assert "hunter2" not in sent + kept
