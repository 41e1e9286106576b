"""Asks a model once, whoever provides it: masked, recorded, and its errors sorted."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from shared.domain.config import ModelProvider
from shared.domain.errors import Rejected, ReplanError, Transient, Unavailable
from workers.llm.call_watch import CallWatch, Interruption, watching
from workers.llm.calls import (
    CANCELLED,
    CallLog,
    CallRecord,
    ModelQuestion,
    ModelReply,
    NoLog,
)
from workers.llm.client import Client, Heard
from workers.llm.foreign import is_connection_error, is_library_error, translate
from workers.llm.settings import LlmSettings


class LanguageModel:
    """Asks once and never retries by itself: retries after a passing fault belong to the queue.

    Questions go through `mask` before they are sent, as does everything that `log` stores. Answers
    are streamed, so that a long one is not mistaken for a dead connection, and one that breaks off
    can be counted. Thread-safe. The first question imports the provider's library.
    """

    def __init__(
        self,
        settings: LlmSettings,
        *,
        log: CallLog | None = None,
        mask: Callable[[str], str] = str,
    ) -> None:
        self._mask = mask
        self._settings = settings
        self._log = log or NoLog()
        self._client: Client | None = None
        self._lock = threading.Lock()

    def ask(self, question: ModelQuestion) -> ModelReply:
        """The answer; raises what `workers.llm.calls.Model` documents."""
        self._settings.check(question.model)
        masked = self._mask_question(question)
        if (known := self._log.recall(masked)) is not None:
            return known
        number = self._log.begin(masked)
        started = time.monotonic()
        heard = Heard()
        reason, error = "", None
        try:
            with watching(self._log.withdrawal(), self._settings.call_limit) as watch:
                self._send(masked.timed(), heard, watch)
        except _WithdrawnError as raised:
            error, reason = CANCELLED, raised.reason
            raise
        except ReplanError as raised:
            error, reason = raised.family, raised.reason
            raise
        finally:
            if error is None and heard.fault is not None:
                error, reason = Rejected.family, heard.fault.reason
            record = _record(question, heard, time.monotonic() - started)
            record = replace(
                record,
                error=error,
                reason=self._mask(reason),
                answer=None if record.answer is None else self._mask(record.answer),
            )
            self._log.end(number, record)
        return ModelReply(heard.text, record.usage, heard.fault, number)

    def refuse(self, reply: ModelReply, reason: str) -> None:
        """Record that an answer cannot be used, and why."""
        self._log.refuse(reply.call, self._mask(reason))

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _mask_question(self, question: ModelQuestion) -> ModelQuestion:
        return replace(
            question,
            system=tuple(map(self._mask, question.system)),
            turns=tuple(turn.convert(self._mask) for turn in question.turns),
        )

    def _send(self, question: ModelQuestion, heard: Heard, watch: CallWatch) -> None:
        try:
            self._listen(question, heard)
        except Exception as error:
            if watch.interruption is not None:
                raise self._interrupted(watch.interruption, question) from error
            ours = error if isinstance(error, ReplanError) else None
            ours = ours or self._translate(error, question, heard)
            if ours is None:
                raise
            raise _counted(ours, heard) from error

    def _listen(self, question: ModelQuestion, heard: Heard) -> None:
        self._connect().listen(question, heard)
        if not heard.begun:
            told = f"the response is not from {self._settings.info.protocol}"
            raise Transient(told, stage=question.purpose)
        if heard.stop_reason is None:
            raise Unavailable("the model's answer broke off in the middle", stage=question.purpose)

    def _interrupted(self, why: Interruption, question: ModelQuestion) -> Transient:
        if why is Interruption.WITHDRAWN:
            told = "the call was ended: its answer is not wanted any more"
            return _WithdrawnError(told, stage=question.purpose)
        limit = f"{self._settings.call_limit:g} s (model_call_limit)"
        told = f"the model had not ended its answer after {limit}"
        return Transient(told, stage=question.purpose)

    def _connect(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = _make_client(self._settings)
            return self._client

    def _translate(
        self, error: Exception, question: ModelQuestion, heard: Heard
    ) -> ReplanError | None:
        """Translate an error; None for a defect of ours, raised before anything had answered."""
        stage = question.purpose
        if is_connection_error(error):
            return Unavailable(f"the connection to the model was lost: {error}", stage=stage)
        if not is_library_error(error):
            if not heard.opened:
                return None
            # libraries trust what they read: a malformed response can raise any error at all
            told = f"the response cannot be read: {type(error).__name__}: {error}"
            return Transient(told, stage=stage)
        ours = translate(
            error, stage=stage, next_step=question.next_step, sign_in=self._settings.info.sign_in
        )
        for secret in self._settings.secrets:
            ours.reason = ours.reason.replace(secret, "[key]")
        ours.args = (ours.reason,)
        return ours


class _WithdrawnError(Transient):
    """Nobody wants the answer any more."""


def _counted(error: ReplanError, heard: Heard) -> ReplanError:
    """An answer that had begun and broke off is paid for, so it is not asked for without end."""
    if not (isinstance(error, Unavailable) and heard.begun):
        return error
    return Transient(
        f"the answer broke off after {heard.characters} characters: {error.reason}",
        stage=error.stage,
        next_step=error.next_step,
        retry_after=error.retry_after,
    )


def _make_client(settings: LlmSettings) -> Client:
    if settings.provider is ModelProvider.OPENAI:
        from workers.llm.chat_completions import ChatCompletionsClient

        return ChatCompletionsClient(settings)
    from workers.llm.messages import MessagesClient

    return MessagesClient(settings)


def _record(question: ModelQuestion, heard: Heard, seconds: float) -> CallRecord:
    return CallRecord(
        purpose=question.purpose,
        prompt=question.prompt,
        model=question.model,
        seconds=seconds,
        usage=heard.paid(question),
        stop_reason=heard.stop_reason,
        request_id=heard.request_id,
        answer=heard.text if heard.begun else None,
        estimated=heard.estimated,
    )
