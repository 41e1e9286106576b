"""The account of agents' calls in the database."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, NoReturn

from shared.domain.ids import AttemptPlace, place_of_key
from shared.domain.spending import AGENT, SPENDING, CapReached
from shared.settings.server import GatewayKeeps
from shared.store import budgets, model_calls
from shared.store.database import Database
from shared.store.model_calls import BegunCall, CallUnderWay, EndedCall
from shared.wire import to_json
from workers import store
from workers.attempt_token import AttemptGrant, read_attempt_token
from workers.call_ledger import CallLedger, CapRefusal
from workers.gateway.faults import FaultKind, Refusal
from workers.gateway.protocols.content import Said, count_characters, new_turns
from workers.gateway.upstream import ModelRequest
from workers.llm.calls import CallRecord, Usage, estimate_tokens
from workers.secrets import mask_cap_reached

_NOTHING: Final[dict[str, Any]] = {"system": [], "turns": []}
"""What is kept of a question while it is under way, and where nothing is to be kept."""

_REMEMBERED: Final = 10_000
"""Attempts and models of which is remembered what their next call finds in the cache."""


class LedgerAccounts:
    """See `Accounts`; `mask` hides secrets in what is kept."""

    def __init__(
        self,
        database: Database,
        ledger: CallLedger,
        installation_key: bytes,
        *,
        keeps: GatewayKeeps = GatewayKeeps.NEW,
        mask: Callable[[str], str] = str,
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._key = installation_key
        self._keeps = keeps
        self._mask = mask
        self._cached: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._begun: dict[int, BegunCall] = {}
        self._lock = threading.Lock()

    def admit(self, token: str) -> AttemptGrant:
        """See `Accounts`."""
        grant = read_attempt_token(self._key, token)
        if grant is None or place_of_key(grant.attempt) is None:
            raise Refusal(
                FaultKind.UNAUTHENTICATED,
                "this is not the token of an attempt of this installation",
            )
        return grant

    def require_open(self, grant: AttemptGrant) -> None:
        """See `Accounts`."""
        with self._database.begin() as connection:
            _open_task(connection, _place(grant))

    def begin(self, grant: AttemptGrant, request: ModelRequest) -> int:
        """See `Accounts`."""
        place = _place(grant)
        call = self._row(place, request)
        tokens = estimate_tokens(count_characters(request.body))

        def require(connection: Any) -> BegunCall:
            task_id = _open_task(connection, place)
            cached = min(tokens, self._cached_tokens(connection, place, call.model))
            asked = Usage(input_tokens=tokens - cached, cache_read_tokens=cached)
            cost = self._ledger.input_cost(call.model, asked)
            return replace(call, task_id=task_id, input_cost=cost)

        try:
            number, begun = self._ledger.begin(require)
        except CapRefusal as error:
            reached = mask_cap_reached(error.reached, self._mask)
            self._note_refusal(call, place, reached)
            raise Refusal(FaultKind.SPENDING, reached.reason) from error
        with self._lock:
            self._begun[number] = begun
        return number

    def note(self, calls: Sequence[CallUnderWay]) -> None:
        """See `Accounts`."""
        with self._database.begin() as connection:
            model_calls.note_under_way(connection, calls)

    def end(
        self, number: int, grant: AttemptGrant, request: ModelRequest, record: CallRecord
    ) -> None:
        """See `Accounts`."""
        usage = record.usage
        read = usage.input_tokens + usage.cache_read_tokens + usage.cache_written_tokens
        with self._lock:
            begun = self._begun[number]
            if usage.cache_read_tokens or usage.cache_written_tokens:
                self._remember(grant.attempt, begun.model, read)
        kept = None if self._keeps is GatewayKeeps.NOTHING else self._mask(record.answer or "")
        ended = replace(record, answer=kept, reason=self._mask(record.reason))
        # Only now: who waits for the first byte does not wait for what is kept.
        self._ledger.end_unsynced(number, begun, ended, self._question(request))
        with self._lock:
            self._begun.pop(number, None)

    def _row(self, place: AttemptPlace, request: ModelRequest) -> BegunCall:
        model = request.route.model_of(request.body)
        return BegunCall(
            task_id=0,
            run_id=place.run,
            step=place.step,
            revision=place.revision,
            job_id=None,
            role=AGENT,
            purpose=AGENT,
            prompt=request.route.protocol.name,
            model=model,
            effort=None,
            question=_NOTHING,
            attempt_key=place.key,
        )

    def _cached_tokens(self, connection: Any, place: AttemptPlace, model: str) -> int:
        """The tokens of an attempt that the cache of a model has, from its longest question."""
        with self._lock:
            known = self._cached.get((place.key, model))
        if known is None:
            known = budgets.cached_tokens(connection, place, model)
            with self._lock:
                self._remember(place.key, model, known)
        return known

    def _remember(self, attempt: str, model: str, tokens: int) -> None:
        known = (attempt, model)
        self._cached[known] = max(tokens, self._cached.get(known, 0))
        self._cached.move_to_end(known)
        if len(self._cached) > _REMEMBERED:
            self._cached.popitem(last=False)

    def _question(self, request: ModelRequest) -> dict[str, Any]:
        """What is kept of a request; `left_out` counts the turns that earlier calls have kept."""
        if self._keeps is GatewayKeeps.NOTHING:
            return _NOTHING
        protocol = request.route.protocol
        turns: list[Said] = protocol.turns(request.body)
        kept = turns if self._keeps is GatewayKeeps.ALL else new_turns(turns)
        first = len(kept) == len(turns)
        return {
            "system": [self._mask(protocol.system(request.body))] if first else [],
            "turns": [{"speaker": who.value, "text": self._mask(text)} for who, text in kept],
            "left_out": len(turns) - len(kept),
        }

    def _note_refusal(self, call: BegunCall, place: AttemptPlace, reached: CapReached) -> None:
        """Leave a row that says why the attempt cannot go on: one, however often it asks again.

        By this row the driver of the attempt learns that it has to end.
        """
        with self._database.begin() as connection:
            if budgets.cap_reached(connection, place.key) is not None:
                return
            task_id = store.task_of_open_attempt(connection, place)
            if task_id is None:
                return
            row = replace(call, task_id=task_id, model=reached.model, input_cost=Decimal(0))
            ended = EndedCall(
                input_tokens=0,
                cache_read_tokens=0,
                cache_written_tokens=0,
                output_tokens=0,
                cost=Decimal(0),
                seconds=0.0,
                stop_reason=None,
                request_id=None,
                error=SPENDING,
                reason=reached.reason,
                answer=None,
                refused=to_json(reached),
            )
            model_calls.end(connection, model_calls.begin(connection, row), ended)


def _place(grant: AttemptGrant) -> AttemptPlace:
    place = place_of_key(grant.attempt)
    if place is None:
        _refuse(grant.attempt)
    return place


def _open_task(connection: Any, place: AttemptPlace) -> int:
    task_id = store.task_of_open_attempt(connection, place)
    if task_id is None:
        _refuse(place.key)
    return task_id


def _refuse(key: str) -> NoReturn:
    raise Refusal(FaultKind.UNAUTHENTICATED, f"the attempt {key} is not open: its token has ended")
