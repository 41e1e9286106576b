"""The gateway as an ASGI application."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any, Final, TypeVar

import structlog
from pydantic_core import from_json
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Mount
from starlette.routing import Route as Page
from starlette.types import Message, Receive, Scope, Send

from shared.domain.errors import Misconfigured, Rejected, ReplanError, Transient
from shared.secrets.masking import Masker
from shared.store.model_calls import CallUnderWay
from workers.attempt_token import AttemptGrant
from workers.gateway.accounts import Accounts
from workers.gateway.exchange import Exchange
from workers.gateway.faults import FaultKind, Refusal
from workers.gateway.headers import passed_on, token_of, without_key
from workers.gateway.outgoing import mask_request
from workers.gateway.patience import Patience
from workers.gateway.protocols.protocol import ApiProtocol, Json
from workers.gateway.routes import RESPONSES, Operation, Route, find_route, protocol_of
from workers.gateway.under_way import CallsUnderWay
from workers.gateway.upstream import ModelRequest, Upstream

log = structlog.get_logger()
T = TypeVar("T")

LARGEST_BODY: Final = 40_000_000
"""Bytes of a request: more than any provider accepts."""

LONGEST_MODEL: Final = 200
"""Characters of the name of a model, in a body as in a path."""

_BODY_PATIENCE: Final = 120.0
"""Seconds that a request may take to arrive."""

_FIRST_PAUSE: Final = 0.2
"""Seconds before a call that could not be recorded is tried again; doubled each time."""

_LONGEST_PAUSE: Final = 5.0
"""Seconds between two tries to record the end of a call, at most."""

_HELD_BACK: Final = 3.0
"""Seconds for which the last piece of an answer waits until the end of its call is recorded."""

_LAST_RECORDS: Final = 15.0
"""Seconds that the stop waits until ended calls are recorded."""

_LAST_WORDS: Final = 5.0
"""Seconds that requests which the stop has cancelled may take to hand over what they cost."""

_FINAL: Final = {"x-should-retry": "false"}
"""What tells the runners' own libraries not to send the same request again."""


class Gateway:
    """Passes requests for models on, and their answers back, byte for byte as they come.

    `masker` gives the masker that hides the secrets of the installation in requests; `keys` hides
    the gateway's own keys in answers. `patience` is None where statuses pass as they are.
    """

    def __init__(
        self,
        upstream: Upstream,
        accounts: Accounts,
        *,
        masker: Callable[[], Masker] = Masker,
        keys: Masker | None = None,
        patience: Patience | None = None,
        threads: int = 8,
    ) -> None:
        self._upstream = upstream
        self._accounts = accounts
        self._masker = masker
        self._keys = keys or Masker()
        self._patience = patience
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="gateway")
        self._endings: dict[str, set[asyncio.Task[None]]] = {}
        self._active: set[asyncio.Task[Any]] = set()
        self._under_way = CallsUnderWay(self._note)
        self.served = 0

    def application(self) -> Starlette:
        """The application, with the answer about its health."""
        return Starlette(
            routes=[Page("/health", self._health), Mount("/", self)], lifespan=self._lifespan
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        if (task := asyncio.current_task()) is not None and task not in self._active:
            self._active.add(task)
            task.add_done_callback(self._active.discard)
        request = Request(scope, receive)
        headers = {name.lower(): value for name, value in request.headers.items()}
        path = scope["path"]  # `request.url` fails where the header Host is malformed
        begun = False

        async def note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._answer(request, headers, path, note)
        except ClientDisconnect:
            return
        except (Refusal, Misconfigured, Rejected, Transient) as error:
            told = self._told(error, path)
            if begun:
                return  # what has begun breaks off
            await refuse(protocol_of(path, headers), told)(scope, receive, send)
        except Exception:
            log.exception("request_failed", path=path)
            if begun:
                return
            failure = Refusal(FaultKind.DEFECT, "the model gateway failed; its log says more")
            await refuse(protocol_of(path, headers), failure)(scope, receive, send)

    def _told(self, error: Refusal | Misconfigured | Rejected | Transient, path: str) -> Refusal:
        """What is answered where the gateway or its installation cannot serve a request."""
        if isinstance(error, Refusal):
            return Refusal(error.kind, self._keys.values(error.reason))
        log.error("request_refused", path=path, stage=error.stage, reason=error.reason)
        return Refusal(FaultKind.UNAVAILABLE, self._keys.values(error.reason))

    async def _answer(
        self, request: Request, headers: dict[str, str], path: str, send: Send
    ) -> None:
        route = find_route(request.method, path, headers)
        query = request.scope["query_string"].decode("latin-1")
        token = token_of(headers, query)
        if not token:
            raise Refusal(FaultKind.UNAUTHENTICATED, "the request has no token of an attempt")
        grant = self._accounts.admit(token)
        raw = await _body(request, headers) if request.method == "POST" else b""
        await self._settle(grant)
        asked, call = await self._run_or_undo(
            lambda: self._prepare(grant, route, raw, headers, without_key(query)),
            lambda prepared: self._drop(grant, *prepared),
        )
        if call is None:
            call = await self._begin(grant, asked)
        self.served += 1
        exchange = Exchange(asked, keys=self._keys, send=send)

        async def work() -> None:
            await exchange.carry_out(self._upstream, self._patience)

        self._under_way.begin(call, exchange)
        try:
            await _unless_gone(request.receive, work)
        finally:
            self._under_way.end(call)
            ending = self._remember(grant, call, asked, exchange)
            with suppress(asyncio.CancelledError):
                await asyncio.wait({ending}, timeout=_HELD_BACK)
        await exchange.finish()

    def _read(self, route: Route, raw: bytes, headers: dict[str, str], query: str) -> ModelRequest:
        """The request as it leaves."""
        body = _parse(raw, route)
        masker = self._masker()
        raw, body = mask_request(raw, body, masker)
        model = route.model_of(body)
        if route.operation is Operation.GENERATE and not model:
            raise Refusal(FaultKind.INVALID_REQUEST, "the request names no model")
        if len(model) > LONGEST_MODEL:
            reason = f"the name of the model is longer than {LONGEST_MODEL} characters"
            raise Refusal(FaultKind.INVALID_REQUEST, reason)
        if route.protocol is RESPONSES and body.get("background"):
            reason = "the model gateway takes no background requests: nobody could count them"
            raise Refusal(FaultKind.INVALID_REQUEST, reason)
        return ModelRequest(route, raw, body, query, passed_on(headers, masker.values))

    def _prepare(
        self, grant: AttemptGrant, route: Route, raw: bytes, headers: dict[str, str], query: str
    ) -> tuple[ModelRequest, int | None]:
        """The request and the number of its call; None where that has to be tried again."""
        asked = self._read(route, raw, headers, query)
        try:
            return asked, self._record(grant, asked)
        except Transient:
            return asked, None

    def _record(self, grant: AttemptGrant, asked: ModelRequest) -> int:
        """Record a call; 0 for what costs nothing."""
        if asked.route.operation is Operation.GENERATE:
            return self._accounts.begin(grant, asked)
        self._accounts.require_open(grant)
        return 0

    async def _begin(self, grant: AttemptGrant, asked: ModelRequest) -> int:
        """Record a call once the database, which is away, is back."""
        patience = (self._patience or Patience()).total
        begun, pause = monotonic(), _FIRST_PAUSE
        while True:
            await asyncio.sleep(pause)
            try:
                return await self._run_or_undo(
                    lambda: self._record(grant, asked), lambda call: self._drop(grant, asked, call)
                )
            except Transient as error:
                if monotonic() - begun + pause > patience:
                    reason = f"the call cannot be recorded: {error.reason}"
                    raise Refusal(FaultKind.UNAVAILABLE, reason) from error
                pause *= 2

    def _remember(
        self, grant: AttemptGrant, call: int, asked: ModelRequest, exchange: Exchange
    ) -> "asyncio.Task[None]":
        """Record the end of a call, which the next request of the same attempt waits for."""
        ending = asyncio.create_task(self._record_end(grant, call, asked, exchange))
        mine = self._endings.setdefault(grant.attempt, set())
        mine.add(ending)

        def forget(done: "asyncio.Task[None]") -> None:
            mine.discard(done)
            if not mine:
                self._endings.pop(grant.attempt, None)

        ending.add_done_callback(forget)
        return ending

    async def _record_end(
        self, grant: AttemptGrant, call: int, asked: ModelRequest, exchange: Exchange
    ) -> None:
        """Record the end of a call once the database is back, if it is within the patience."""
        if not call:
            return
        record = await self._run(exchange.record)
        patience = (self._patience or Patience()).total
        begun, pause = monotonic(), _FIRST_PAUSE
        while True:
            try:
                await self._run(self._accounts.end, call, grant, asked, record)
            except ReplanError as error:
                log.warning("call_not_recorded", call=call, reason=error.reason)
                may_come_back = isinstance(error, Transient | Misconfigured)
                if not may_come_back or monotonic() - begun + pause > patience:
                    return
            else:
                return
            await asyncio.sleep(pause)  # in no thread: the others have calls to record, too
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _note(self, calls: Sequence[CallUnderWay]) -> None:
        await self._run(self._accounts.note, calls)

    async def _settle(self, grant: AttemptGrant) -> None:
        """Wait until ended calls of an attempt are recorded: they count towards its caps."""
        if mine := self._endings.get(grant.attempt):
            await asyncio.wait(set(mine))

    def _drop(self, grant: AttemptGrant, asked: ModelRequest, call: int | None) -> None:
        """End a call that is recorded and will not be made."""
        if call:
            self._remember(grant, call, asked, Exchange(asked, keys=self._keys, send=_send_nothing))

    async def _run_or_undo(self, function: Callable[[], T], undo: Callable[[T], None]) -> T:
        """Run it in a thread; what it did although this request is cancelled is undone."""
        running = asyncio.create_task(self._run(function))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            with suppress(Refusal, ReplanError):
                undo(await running)
            raise

    async def _run(self, function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    async def _health(self, _: Request) -> JSONResponse:
        return JSONResponse({"ok": True, "served": self.served})

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if self._active:  # the server has cancelled them, and waits for none of them
                await asyncio.wait(set(self._active), timeout=_LAST_WORDS)
            await self._under_way.close()
            if endings := {each for mine in self._endings.values() for each in mine}:
                await asyncio.wait(endings, timeout=_LAST_RECORDS)
            await self._upstream.close()
            self._pool.shutdown()


async def _send_nothing(_: Message) -> None:
    """Nobody listens any more."""


def refuse(protocol: ApiProtocol, refusal: Refusal) -> JSONResponse:
    """An error answer of the gateway itself, in the form of the protocol."""
    return JSONResponse(protocol.error(refusal), refusal.status, _FINAL)


async def _body(request: Request, headers: dict[str, str]) -> bytes:
    if headers.get("content-encoding", "identity") != "identity":
        raise Refusal(FaultKind.INVALID_REQUEST, "the gateway takes no compressed requests")
    pieces, length = [], 0
    try:
        async with asyncio.timeout(_BODY_PATIENCE):
            async for piece in request.stream():
                length += len(piece)
                if length > LARGEST_BODY:
                    reason = f"the request is longer than {LARGEST_BODY} bytes"
                    raise Refusal(FaultKind.TOO_LARGE, reason)
                pieces.append(piece)
    except TimeoutError:
        raise Refusal(FaultKind.INVALID_REQUEST, "the request did not arrive in time") from None
    return b"".join(pieces)


def _parse(raw: bytes, route: Route) -> Json:
    if not raw and route.operation is Operation.MODELS:
        return {}
    try:
        body = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise Refusal(
            FaultKind.INVALID_REQUEST, f"the request is not valid JSON: {error}"
        ) from error
    if not isinstance(body, dict):
        raise Refusal(FaultKind.INVALID_REQUEST, "the request is not a JSON object")
    return body


async def _unless_gone(receive: Receive, work: Callable[[], Any]) -> None:
    """Do the work, unless the client hangs up before."""

    async def hang_up() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    working, gone = asyncio.create_task(work()), asyncio.create_task(hang_up())
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        finished = working.done()
        working.cancel()
        gone.cancel()
        await asyncio.wait({working, gone})
    if finished:
        working.result()
