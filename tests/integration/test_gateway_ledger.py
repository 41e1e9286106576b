"""What agents ask models is in the ledger before it is asked, counted after, and capped."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from sqlalchemy import text

from orchestrator.coordinator import Coordinator
from shared.domain.attempt import Attempt
from shared.domain.config import Policy
from shared.domain.ids import subtask_of_key
from shared.domain.jobs import Job
from shared.domain.outcome import Outcome
from shared.domain.spending import Cap
from shared.settings.server import GatewayKeeps
from shared.store import attempts, model_calls
from shared.store.attempts import AttemptWrite
from shared.store.database import Database
from shared.store.model_calls import CallSigns
from tests.contract.store_under_test import SqlUnderTest
from tests.fakes.gateway import NotingUpstream
from tests.journeys.plans import plan, step
from tests.services.ring import eventually
from workers.agents.spending import LedgerSpending
from workers.attempt_token import attempt_token
from workers.call_ledger import CallLedger
from workers.gateway.app import Gateway
from workers.gateway.faults import FaultKind, Refusal
from workers.gateway.ledger import LedgerAccounts
from workers.gateway.patience import Patience
from workers.gateway.script import parse_script
from workers.gateway.scripted import ScriptedUpstream
from workers.gateway.serving import serving
from workers.gateway.upstream import Answer, ModelRequest, Unanswered, Unreachable, Upstream
from workers.llm.prices import Prices

KEY: Final = b"k" * 32
NOW: Final = datetime.now(UTC)
ATTEMPT: Final = Attempt("R1-1-r0-1-p1-t0", 1, 1, 0, 1, 1, 0, 1, "true", Outcome.OK, NOW, NOW)
USAGE: Final = {"usage": {"input": 1000, "cached": 2000, "output": 100}}
"""A cent, two tenths of a cent for the cache, and a tenth."""

COST: Final = Decimal("0.013")
CALL: Final[Any] = {
    "model": "dear",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "hi"}],
}


@dataclass
class Metered:
    """A gateway with a ledger, and a pass whose worker holds it."""

    database: Database
    job: Job
    url: str
    upstream: NotingUpstream

    @property
    def attempt(self) -> Attempt:
        """The first attempt of the pass."""
        run = self.job.run_id or 0
        return replace(ATTEMPT, run_id=run, key=f"R{run}-1-r0-1-p1-t0")

    def write(self, *, ended: bool, key: str | None = None) -> None:
        """Record the attempt, or another one of that key."""
        made = self.attempt if key is None else replace(self.attempt, key=key)
        made = replace(made, subtask=subtask_of_key(made.key) or 0)
        with self.database.begin() as connection:
            attempts.record(connection, [AttemptWrite(self.job.claim, made, ended, "w")])

    def ask(self, path: str = "/v1/messages", body: Any = CALL, **more: Any) -> httpx2.Response:
        """What the gateway answers the attempt, or whoever has that token."""
        patience = more.pop("patience", 5.0)
        token = more.pop("token", None) or attempt_token(KEY, more.pop("key", self.attempt.key))
        return httpx2.post(
            f"{self.url}{path}", json=body, headers={"x-api-key": token}, timeout=patience
        )

    def rows(self, query: str = "SELECT * FROM model_calls ORDER BY id") -> list[Any]:
        """The rows of a query."""
        with self.database.begin() as connection:
            return list(connection.execute(text(query)).all())


class Silent:
    """An upstream whose answers never begin: it hangs, or says why at once."""

    def __init__(self, why: Exception | None = None) -> None:
        self._why = why

    @asynccontextmanager
    async def open(self, request: ModelRequest) -> AsyncIterator[Answer]:  # noqa: ARG002 - a port
        """See `Upstream`."""
        if self._why is not None:
            raise self._why
        await asyncio.Event().wait()
        yield Answer(200, {}, _nothing())

    async def close(self) -> None:
        """See `Upstream`."""


async def _nothing() -> AsyncIterator[bytes]:
    yield b""


@contextmanager
def metered(
    database: Database,
    *turns: Any,
    policy: Policy | None = None,
    daily_cap: float = 0.0,
    keeps: GatewayKeeps = GatewayKeeps.NEW,
    answers: Upstream | None = None,
    patience: Patience | None = None,
) -> Iterator[Metered]:
    store = SqlUnderTest(database)
    store.submit(("web1",), policy or Policy(), plan(step(["true"])))
    Coordinator(store.ledger).drain()
    job = store.claim(store.waiting()[0])
    assert job is not None
    ledger = CallLedger(database, Prices(["dear=10/10/1/10"]), daily_cap)
    accounts = LedgerAccounts(
        database, ledger, KEY, keeps=keeps, mask=lambda said: said.replace("hush", "‹secret:X›")
    )
    upstream = NotingUpstream(answers or ScriptedUpstream(parse_script(list(turns))))
    with serving(Gateway(upstream, accounts, patience=patience)) as where:
        yield Metered(database, job, where.url, upstream)


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", CALL),
        ("/v1/chat/completions", CALL),
        ("/v1/responses", {"model": "dear", "input": "hi"}),
        ("/v1beta/models/dear:generateContent", {"contents": [{"parts": [{"text": "hi"}]}]}),
    ],
)
def test_a_call_is_a_row_with_its_tokens_and_its_cost(
    database: Database, path: str, body: Mapping[str, Any], *, streamed: bool
) -> None:
    asked = {**body, "stream": True} if streamed else body
    way = path.replace(":generate", ":streamGenerate") + "?alt=sse" if streamed else path
    with metered(database, [{"text": "Fine."}, USAGE]) as gateway:
        gateway.write(ended=False)
        assert gateway.ask(way, asked).is_success
        (row,) = gateway.rows()
        with database.begin() as connection:
            spent = model_calls.spent_by_attempt(connection, gateway.attempt.key)
    assert (row.input_tokens, row.cache_read_tokens, row.output_tokens) == (1000, 2000, 100)
    assert (row.cost, row.estimated, row.error) == (COST, False, None)
    assert (row.role, row.model, row.attempt_key) == ("agent", "dear", gateway.attempt.key)
    assert (row.task_id, row.run_id, row.step) == (gateway.job.task_id, gateway.job.run_id, 1)
    assert row.answer == "Fine."
    assert (spent.calls, spent.tokens, spent.cost, spent.refused) == (1, 3100, COST, "")


def test_a_token_is_valid_while_its_attempt_is_open(database: Database) -> None:
    """An attempt may run before it is recorded: its pass is held."""
    with metered(database, [{"text": "Fine."}]) as gateway:
        statuses = [gateway.ask().status_code]
        gateway.write(ended=False)
        statuses.append(gateway.ask().status_code)
        gateway.write(ended=True)
        late = gateway.ask()
    assert statuses == [200, 200]
    assert (late.status_code, late.headers["x-should-retry"]) == (401, "false")
    assert late.json()["error"]["type"] == "authentication_error"
    assert len(gateway.upstream.requests) == 2


def test_no_other_token_is_valid(database: Database) -> None:
    with metered(database, [{"text": "Fine."}]) as gateway:
        gateway.write(ended=False)
        mine = attempt_token(KEY, gateway.attempt.key)
        others = [
            "",
            "sk-ant-something",
            attempt_token(b"o" * 32, gateway.attempt.key),
            attempt_token(KEY, "R999-1-r0-1-p1-t0"),
            attempt_token(KEY, "R1-1-r0-1-p2-t0"),
            attempt_token(KEY, "not-a-key"),
            mine.replace("-t0_", "-t1_"),
            mine[:-1],
        ]
        for other in others:
            answer = gateway.ask(token=other or "‹none›".encode().hex())
            assert answer.status_code == 401, other
    assert gateway.upstream.requests == []
    assert gateway.rows() == []


@pytest.mark.parametrize("capped", [Cap.BUDGET, Cap.TASK, Cap.DAY])
def test_a_cap_that_is_reached_is_a_hard_stop(database: Database, capped: Cap) -> None:
    """And a value in a row, by which the driver of the attempt learns of it."""
    policy = Policy(task_cost_cap=0.01) if capped is Cap.TASK else Policy()
    daily = 0.01 if capped is Cap.DAY else 0.0
    with metered(database, [{"text": "x"}, USAGE], policy=policy, daily_cap=daily) as gateway:
        spending = LedgerSpending(database)
        if capped is Cap.BUDGET:
            spending.allow(gateway.attempt.key, 0.01)
        gateway.write(ended=False)
        assert gateway.ask().status_code == 200
        assert spending.cap_reached(gateway.attempt.key) is None
        for _ in range(2):
            answer = gateway.ask()
            assert (answer.status_code, answer.headers["x-should-retry"]) == (402, "false")
            assert answer.json()["error"]["type"] == "billing_error"
        with database.begin() as connection:
            spent = model_calls.spent_by_attempt(connection, gateway.attempt.key)
        assert [row.error for row in gateway.rows()] == [None, "spending"]
        reached = spending.cap_reached(gateway.attempt.key)
    assert reached is not None
    assert (reached.cap, reached.limit, reached.spent) == (capped, Decimal("0.01"), COST)
    assert (reached.model, reached.reason) == ("dear", spent.refused)
    assert (spent.calls, spent.cost) == (1, COST)
    assert "which may cost $0.01" in spent.refused or "$0.01 a day" in spent.refused
    assert len(gateway.upstream.requests) == 1


def test_a_price_that_nobody_knows_is_refused_under_a_cap(database: Database) -> None:
    with metered(database, [{"text": "x"}], policy=Policy(task_cost_cap=0.0)) as gateway:
        gateway.write(ended=False)
        assert gateway.ask(body={**CALL, "model": "new"}).status_code == 200
        spending = LedgerSpending(database)
        spending.allow(gateway.attempt.key, 1.0)
        answer = gateway.ask(body={**CALL, "model": "new"})
        reached = spending.cap_reached(gateway.attempt.key)
    assert reached is not None
    assert reached.cap is Cap.PRICE
    assert answer.status_code == 402
    assert "the price of new is unknown" in answer.json()["error"]["message"]


def test_an_answer_that_breaks_off_is_estimated_and_counted(database: Database) -> None:
    with metered(database, [{"text": "x" * 300}, {"cut": True}]) as gateway:
        gateway.write(ended=False)
        with pytest.raises(httpx2.RemoteProtocolError):
            gateway.ask(body={**CALL, "stream": True})
        gateway.ask("/v1/messages/count_tokens")  # waits for what ended before
        (row,) = gateway.rows()
    assert (row.error, row.estimated) == ("transient", True)
    assert row.output_tokens == 100
    assert row.cost > Decimal("0.001")
    assert row.ended_at is not None


def test_an_answer_that_the_client_left_is_counted(database: Database) -> None:
    with metered(database, [{"text": "x" * 300}, {"hang": True}]) as gateway:
        gateway.write(ended=False)
        token = attempt_token(KEY, gateway.attempt.key)
        asked = {**CALL, "stream": True}
        with httpx2.stream(
            "POST", f"{gateway.url}/v1/messages", json=asked, headers={"x-api-key": token}
        ) as answer:
            pieces = answer.iter_raw()
            while b"content_block_stop" not in next(pieces):
                pass
            (under_way,) = gateway.rows()
    (row,) = gateway.rows()  # the gateway has stopped: nothing is under way
    assert under_way.ended_at is None, "a row before it ends"
    assert (row.error, row.estimated, row.output_tokens) == ("cancelled", True, 100)


def test_an_answer_that_the_stop_cuts_is_counted(database: Database) -> None:
    with ExitStack() as stack:
        with metered(database, [{"text": "x" * 300}, {"hang": True}]) as gateway:
            gateway.write(ended=False)
            headers = {"x-api-key": attempt_token(KEY, gateway.attempt.key)}
            asked = {**CALL, "stream": True}
            streaming = httpx2.stream(
                "POST", f"{gateway.url}/v1/messages", json=asked, headers=headers
            )
            pieces = stack.enter_context(streaming).iter_raw()
            while b"content_block_stop" not in next(pieces):
                pass
        (row,) = gateway.rows()
    assert row.ended_at is not None
    assert (row.error, row.estimated, row.output_tokens) == ("cancelled", True, 100)


@pytest.mark.parametrize("left", ["by the client", "by the provider"])
def test_a_request_whose_answer_never_began_is_counted_and_reaches_the_cap(
    database: Database, left: str
) -> None:
    hangs = left == "by the client"
    answers = Silent() if hangs else Silent(Unanswered("timed out"))
    long = {**CALL, "messages": [{"role": "user", "content": "x" * 2400}]}
    with metered(database, policy=Policy(task_cost_cap=0.01), answers=answers) as gateway:
        gateway.write(ended=False)
        if hangs:
            with pytest.raises(httpx2.ReadTimeout):
                gateway.ask(body=long, patience=1.0)
        else:
            assert gateway.ask(body=long).status_code == 402
        assert "(task_cost_cap)" in gateway.ask(body=long).json()["error"]["message"]
        assert len(gateway.upstream.requests) == 1
        row, _ = gateway.rows()
    assert (row.error, row.estimated) == ("cancelled" if hangs else "unavailable", True)
    assert (row.input_tokens, row.output_tokens) == (pytest.approx(800, rel=0.1), 0)
    assert row.cost == pytest.approx(Decimal("0.008"), rel=Decimal("0.1"))


@pytest.mark.parametrize(
    "why",
    [Unreachable("refused"), Refusal(FaultKind.UPSTREAM_REFUSED, "no key"), 400, 529],
    ids=["unreachable", "refused", "400", "529"],
)
def test_a_request_that_nobody_charges_for_costs_nothing(
    database: Database, why: Exception | int
) -> None:
    answers = Silent(why) if isinstance(why, Exception) else None
    with metered(
        database, [{"status": why if isinstance(why, int) else 400}], answers=answers
    ) as gateway:
        gateway.write(ended=False)
        assert gateway.ask().is_error
        gateway.ask("/v1/messages/count_tokens")  # waits for what ended before
        (row,) = gateway.rows()
    assert (row.cost, row.estimated, row.input_tokens) == (0, False, 0)


def test_each_call_keeps_what_it_adds_without_secrets(database: Database) -> None:
    said: Any = [
        {"role": "user", "content": "say hush"},
        {"role": "assistant", "content": "hush"},
        {"role": "user", "content": "again"},
    ]
    with metered(database, [{"text": "hush"}], [{"text": "No."}]) as gateway:
        gateway.write(ended=False)
        for messages in (said[:1], said):
            gateway.ask(body={**CALL, "system": "You.", "messages": messages})
        first, second = gateway.rows()
    assert first.question == {
        "system": ["You."],
        "turns": [{"speaker": "user", "text": "say ‹secret:X›"}],
        "left_out": 0,
    }
    assert first.answer == "‹secret:X›"
    assert second.question == {
        "system": [],
        "turns": [{"speaker": "user", "text": "again"}],
        "left_out": 2,
    }


@pytest.mark.parametrize("away", [False, True], ids=["slow", "away"])
def test_who_watches_an_agent_can_read_what_the_gateway_does_for_it(
    database: Database, tmp_path: Path, *, away: bool
) -> None:
    """That an answer is coming, and that a provider is away which the gateway waits for."""
    gate = tmp_path / "gate"
    busy = {"status": 529, "headers": {"retry-after": "60"}}
    turn = [busy] if away else [{"await": str(gate)}, {"text": "Fine."}, USAGE]
    patience = Patience(longest_pause=60)
    with metered(database, turn, patience=patience) as gateway, ThreadPoolExecutor() as threads:
        gateway.write(ended=False)

        def signs() -> CallSigns:
            with database.begin() as connection:
                return model_calls.signs_of_attempt(connection, gateway.attempt.key)

        stream: dict[str, Any] = {**CALL, "stream": True}
        asked = threads.submit(gateway.ask, body=stream, patience=8.0 if away else 60.0)
        eventually(lambda: signs().provider_away if away else signs().heard, "a sign of the call")
        during = signs()
        gate.touch()
        assert isinstance(asked.exception(), httpx2.TimeoutException) is away
        eventually(lambda: not signs().requests, "the end of the call")
    assert (during.requests, during.answered) == (1, 0 if away else 1)
    assert (during.provider_away, during.tokens) == (away, 0)
    assert away or signs().tokens == 3100
    assert not signs().provider_away
