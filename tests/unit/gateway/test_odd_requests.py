"""Requests that arrive or leave in an odd way."""

import asyncio
import json
from threading import Event
from typing import Any

from tests.fakes.gateway import NotingUpstream
from tests.unit.gateway.chain import TOKEN
from tests.unit.gateway.test_passing_through import ASKED, SAYS
from workers.attempt_token import AttemptGrant
from workers.gateway.accounts import NoAccounts
from workers.gateway.app import Gateway
from workers.gateway.script import parse_script
from workers.gateway.scripted import ScriptedUpstream
from workers.gateway.upstream import ModelRequest
from workers.llm.calls import CallRecord, Usage


async def ask_directly(
    gateway: Gateway, *, host: bytes = b"localhost", begun: Event | None = None
) -> list[Any]:
    """What the gateway sends; the request is cancelled once something has `begun`."""
    sent: list[Any] = []
    pieces = [{"type": "http.request", "body": json.dumps(ASKED).encode()}]
    headers = [(b"host", host), (b"x-api-key", TOKEN.encode())]
    scope = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": "/v1/messages",
        "query_string": b"",
        "headers": headers,
    }

    async def receive() -> Any:
        return pieces.pop() if pieces else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    asking = asyncio.create_task(gateway(scope, receive, send))
    if begun is None:
        await asking
    else:
        assert await asyncio.to_thread(begun.wait, 10)
        asking.cancel()
    return sent


def test_a_malformed_host_is_no_reason_to_fail() -> None:
    gateway = Gateway(ScriptedUpstream(parse_script([SAYS])), NoAccounts())
    sent = asyncio.run(ask_directly(gateway, host=b"[bad"))
    assert sent[0]["status"] == 200


class SlowAccounts(NoAccounts):
    """Accounts that take their time to record the beginning of a call."""

    def __init__(self) -> None:
        self.beginning, self.go_on, self.ended = Event(), Event(), Event()

    def begin(self, grant: AttemptGrant, request: ModelRequest) -> int:  # noqa: ARG002 - a port
        """See `Accounts`."""
        self.beginning.set()
        assert self.go_on.wait(10)
        return 7

    def end(
        self,
        number: int,
        grant: AttemptGrant,  # noqa: ARG002 - a port
        request: ModelRequest,  # noqa: ARG002
        record: CallRecord,
    ) -> None:
        """See `Accounts`."""
        assert (number, record.usage) == (7, Usage())
        self.ended.set()


def test_a_request_that_is_cancelled_while_its_row_begins_ends_it() -> None:
    accounts = SlowAccounts()
    upstream = NotingUpstream(ScriptedUpstream(parse_script([SAYS])))

    async def ask() -> None:
        await ask_directly(Gateway(upstream, accounts), begun=accounts.beginning)
        accounts.go_on.set()
        assert await asyncio.to_thread(accounts.ended.wait, 10)

    asyncio.run(ask())
    assert upstream.requests == []
