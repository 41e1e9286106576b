"""One request and its answer, from the upstream to the client."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from time import monotonic
from typing import Any, Final

from starlette.types import Send

from shared.secrets.masking import Masker
from workers.gateway.faults import Cut, Refusal
from workers.gateway.headers import passed_back
from workers.gateway.patience import Patience, open_patiently
from workers.gateway.protocols.content import count_characters
from workers.gateway.protocols.protocol import AnswerReader
from workers.gateway.upstream import Answer, ModelRequest, Unreachable, Upstream
from workers.gateway.usage_chunk import UsageChunk
from workers.llm.calls import CANCELLED, CallRecord, Usage, estimate_tokens

_ERRORS: Final = 400
"""The first of HTTP's statuses of errors, for which no provider charges."""

_LAST_PIECE: Final[Mapping[str, Any]] = {"type": "http.response.body", "body": b""}


class _Tab:
    """An upstream, and whether it charges for what it was asked last."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self.owes = False

    @asynccontextmanager
    async def open(self, request: ModelRequest) -> AsyncIterator[Answer]:
        """See `Upstream`."""
        self.owes = True
        try:
            async with self._upstream.open(request) as answer:
                self.owes = answer.status < _ERRORS
                yield answer
        except (Unreachable, Refusal):
            self.owes = False
            raise

    async def close(self) -> None:
        """See `Upstream`."""
        await self._upstream.close()


class Exchange:
    """Passes one answer through and notes what it says; `keys` are hidden in it.

    `heard` counts the bytes of the answer so far, those of errors aside; `provider_away` says that
    the request waits to be repeated.
    """

    def __init__(self, request: ModelRequest, *, keys: Masker, send: Send) -> None:
        self._request = request
        self._usage_chunk = UsageChunk.of(request)
        self._screen = keys.value_stream()
        self._mask = keys.values
        self._send = send
        self._reader: AnswerReader | None = None
        self._status: int | None = None
        self._request_id: str | None = None
        self._refusal: Refusal | None = None
        self._cut = ""
        self._tab: _Tab | None = None
        self._begun = monotonic()
        self._ended = False
        self.heard = 0
        self.provider_away = False

    async def carry_out(self, upstream: Upstream, patience: Patience | None) -> None:
        """Pass the answer through up to its last piece, which `finish` sends.

        Raises Refusal if there is none to pass. An answer that breaks off is not an error here.
        """
        tab = self._tab = _Tab(upstream)
        try:
            request = self._usage_chunk.request
            async with open_patiently(tab, request, patience, self._note_away) as answer:
                await self._pass(answer)
        except Refusal as refusal:
            self._refusal = refusal
            raise
        except Cut as cut:
            self._cut = str(cut) or "the answer broke off"

    async def finish(self) -> None:
        """End the answer, unless the upstream's own did not end: then it breaks off, too."""
        if self._ended:
            await self._send({**_LAST_PIECE, "more_body": False})

    def record(self) -> CallRecord:
        """What the call cost and how it ended, as far as it came."""
        if self._reader is not None:
            self._reader.finish()
        usage, estimated = self._usage()
        error, reason = self._fault()
        heard = None if self._reader is None else self._reader.heard
        return CallRecord(
            purpose="agent",
            prompt=self._request.route.protocol.name,
            model=self._request.route.model_of(self._request.body),
            seconds=monotonic() - self._begun,
            usage=usage,
            stop_reason=None if heard is None else heard.stop_reason,
            request_id=self._request_id,
            error=error,
            reason=reason,
            answer=None if heard is None else heard.text,
            estimated=estimated,
        )

    async def _pass(self, answer: Answer) -> None:
        self._status = answer.status
        headers = passed_back(answer.headers, self._mask)
        self._request_id = headers.get("request-id") or headers.get("x-request-id")
        protocol = self._request.route.protocol
        reader = self._reader = protocol.reader(streamed=answer.is_event_stream)
        await self._send(
            {
                "type": "http.response.start",
                "status": answer.status,
                "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            }
        )
        async for chunk in answer.chunks:
            self.heard += len(chunk) if answer.status < _ERRORS else 0
            if passed := self._screen.feed(self._usage_chunk.feed(chunk)):
                await self._give(passed)
            reader.feed(chunk)
        if rest := self._screen.feed(self._usage_chunk.finish()) + self._screen.finish():
            await self._give(rest)
        self._ended = True

    def _note_away(self, away: bool) -> None:
        self.provider_away = away

    async def _give(self, piece: bytes) -> None:
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    def _usage(self) -> tuple[Usage, bool]:
        """The tokens, and whether they are estimated: those of an answer that broke off are.

        So are those of a request that was sent and left before its answer began: it is charged for.
        """
        if self._tab is None or not self._tab.owes:
            return Usage(), False
        if self._reader is None:
            return Usage(input_tokens=self._asked()), True
        heard = self._reader.heard
        if heard.counted:
            return heard.usage, False
        said = heard.usage
        output = max(said.output_tokens, estimate_tokens(heard.characters))
        if said.input_tokens or said.cache_read_tokens or said.cache_written_tokens:
            return replace(said, output_tokens=output), True
        return Usage(input_tokens=self._asked(), output_tokens=output), True

    def _asked(self) -> int:
        return estimate_tokens(count_characters(self._request.body))

    def _fault(self) -> tuple[str | None, str]:
        if self._refusal is not None:
            return self._refusal.kind.value, self._refusal.reason
        if self._cut:
            return "transient", f"the answer broke off: {self._cut}"
        if not self._ended:
            return CANCELLED, "the client hung up"
        if self._status is not None and self._status >= _ERRORS:
            heard = "" if self._reader is None else self._reader.heard.failure
            return "rejected", f"the provider answered {self._status}: {heard or 'no reason'}"
        if self._reader is not None and self._reader.heard.failure:
            return "transient", self._mask(self._reader.heard.failure)
        return None, ""
