"""Speaks the Chat Completions API through the openai SDK: OpenAI, Azure, and servers of one's own.

Servers differ in what they accept. What one refuses, by name and before it answers, is left out or
put another way from then on (`_Dialect`): the question that it refused costs nothing.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shared.domain.errors import Rejected
from workers.llm.call_watch import interruptible
from workers.llm.calls import WANTED_TOOL, Fault, ModelQuestion, Speaker, Usage
from workers.llm.client import Heard
from workers.llm.schema_forms import in_words, strict
from workers.llm.settings import LlmSettings

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletionChunk
    from openai.types.completion_usage import CompletionUsage

_FAULTS = {
    "tool_calls": WANTED_TOOL,
    "function_call": WANTED_TOOL,
    "content_filter": Fault.refused("the provider's filter stopped it"),
}
_TOO_LONG = "context_length_exceeded"
_NO_KEY = "no-key"
"""What a server without keys gets: the SDK insists on one."""


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What a server accepts for a model.

    `length` is its name for the longest answer. `form` is how it is told the form of the answer:
    `json_schema`, `json_object` with the schema as text, or as text alone.
    """

    length: str = "max_completion_tokens"
    form: str = "json_schema"
    counts: bool = True
    efforts: bool = True

    def without(self, refused: str) -> "_Dialect | None":
        """The next thing to try after the server has refused that parameter; None if nothing is."""
        match refused:
            case "max_completion_tokens" if self.length == refused:
                return replace(self, length="max_tokens")
            case "response_format" if self.form == "json_schema":
                return replace(self, form="json_object")
            case "response_format" if self.form == "json_object":
                return replace(self, form="text")
            case "stream_options" if self.counts:
                return replace(self, counts=False)
            case "reasoning_effort" if self.efforts:
                return replace(self, efforts=False)
            case _:
                return None


_PARAMETERS = {
    "max_completion_tokens": "max_completion_tokens",
    "response_format": "response_format",
    "json_schema": "response_format",
    "json_object": "response_format",
    "stream_options": "stream_options",
    "include_usage": "stream_options",
    "reasoning_effort": "reasoning_effort",
}
"""The words by which servers name a parameter that they refuse."""


class ChatCompletionsClient:
    """OpenAI, or any server that speaks its protocol."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._client: openai.OpenAI | None = None
        self._dialects: dict[str, _Dialect] = {}
        self._lock = threading.Lock()

    def listen(self, question: ModelQuestion, heard: Heard) -> None:
        """See `Client`."""
        response = self._open(question)
        heard.opened, heard.request_id = True, response.headers.get("x-request-id")
        whole = response.headers.get("content-type", "").startswith("application/json")
        _read(_whole(response) if whole else response.parse(), heard, self._settings.max_tokens)

    def _open(self, question: ModelQuestion) -> Any:
        """The beginning of the answer, in the first dialect that the server accepts."""
        import openai

        send = self._connect().chat.completions.with_raw_response.create
        dialect = self._dialects.get(question.model, _Dialect())
        while True:
            try:
                return send(**self._request(question, dialect))
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if error.code == _TOO_LONG:
                    raise _too_long(question) from error
                other = dialect.without(_refused(error))
                if other is None:
                    raise
                dialect = self._dialects[question.model] = other

    def close(self) -> None:
        """See `Client`."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _connect(self) -> "openai.OpenAI":
        with self._lock:
            if self._client is None:
                self._client = _make(self._settings)
            return self._client

    def _request(self, question: ModelQuestion, dialect: _Dialect) -> dict[str, Any]:
        schema = strict(question.schema)
        system = list(question.system)
        request: dict[str, Any] = {
            "model": question.model,
            "stream": True,
            dialect.length: self._settings.max_tokens,
        }
        if dialect.form == "json_schema":
            named = {"name": "answer", "strict": True, "schema": schema}
            request["response_format"] = {"type": "json_schema", "json_schema": named}
        else:
            if not self._settings.schema_in_prompt:
                system.append(in_words(question.schema))
            if dialect.form == "json_object":
                request["response_format"] = {"type": "json_object"}
        if dialect.counts:
            request["stream_options"] = {"include_usage": True}
        if question.effort is not None and dialect.efforts:
            request["reasoning_effort"] = question.effort
        # one system message: the templates of many local models take no second one
        first = {"role": "system", "content": "\n\n".join(system)}
        turns = [_turn(turn.speaker, turn.text) for turn in question.turns]
        return request | {"messages": [first, *turns]}


def _make(settings: LlmSettings) -> "openai.OpenAI":
    import openai

    how: dict[str, Any] = {
        "api_key": settings.api_key or _NO_KEY,
        "max_retries": 0,
        "http_client": interruptible(openai.DefaultHttpxClient),
        "timeout": openai.Timeout(settings.timeout, connect=settings.connect_timeout),
    }
    if settings.api_version and settings.base_url:
        return openai.AzureOpenAI(
            azure_endpoint=settings.base_url, api_version=settings.api_version, **how
        )
    return openai.OpenAI(base_url=settings.base_url or "https://api.openai.com/v1", **how)


def _turn(speaker: Speaker, text: str) -> dict[str, str]:
    role = "user" if speaker is Speaker.USER else "assistant"
    return {"role": role, "content": text if text.strip() else "(nothing)"}


def _refused(error: Any) -> str:
    """The parameter that the server does not take, by its name; empty if it names none."""
    named = f"{error.param or ''} {error.message}"
    return next((name for word, name in _PARAMETERS.items() if word in named), "")


def _too_long(question: ModelQuestion) -> Rejected:
    return Rejected(
        "the question and its answer are too long for the model",
        stage=question.purpose,
        next_step=question.next_step,
    )


def _whole(response: Any) -> Iterator["ChatCompletionChunk"]:
    """The one chunk that a whole answer amounts to, from a server that does not stream."""
    from openai.types.chat import ChatCompletionChunk

    body = json.loads(response.http_response.read())
    if not isinstance(body, Mapping) or not isinstance(body.get("choices"), list):
        return
    choices = [choice | {"delta": choice.get("message")} for choice in body["choices"]]
    yield ChatCompletionChunk.model_construct(
        **ChatCompletionChunk.model_validate(
            {**body, "choices": choices, "object": "chat.completion.chunk"}
        ).__dict__
    )


def _read(chunks: Any, heard: Heard, limit: int) -> None:
    refusal: list[str] = []
    for chunk in chunks:
        if chunk.usage is not None:
            heard.usage = _usage(chunk.usage)
        for choice in chunk.choices or ():
            heard.begun = True
            if choice.delta is not None:
                heard.pieces.append(choice.delta.content or "")
                heard.thought += _thought(choice.delta)
                refusal.append(getattr(choice.delta, "refusal", None) or "")
            heard.stop_reason = choice.finish_reason or heard.stop_reason
    heard.fault = _FAULTS.get(heard.stop_reason or "")
    if heard.stop_reason == "length":
        heard.fault = Fault.cut_off(limit)
    if told := "".join(refusal):
        heard.fault = Fault.refused(told)


def _thought(delta: object) -> int:
    """The length of the thinking in a piece, under the names that servers have for it."""
    parts = (getattr(delta, name, None) for name in ("reasoning_content", "reasoning"))
    return next((len(part) for part in parts if isinstance(part, str)), 0)


def _usage(usage: "CompletionUsage") -> Usage:
    """The tokens; this protocol counts those of the cache among the prompt's."""
    details = usage.prompt_tokens_details
    read = (details.cached_tokens if details else None) or 0
    written = (details.cache_write_tokens if details else None) or 0
    return Usage(
        input_tokens=max(usage.prompt_tokens - read - written, 0),
        cache_read_tokens=read,
        cache_written_tokens=written,
        output_tokens=usage.completion_tokens,
    )
