"""Servers that speak the Chat Completions API, each in its own way."""

from collections.abc import Iterator

import openai
import pytest

from shared.domain.errors import Misconfigured, Rejected, ReplanError
from shared.settings import load_settings
from tests.fakes.model_server import KEY, Fails, ModelServer, Raw, Says, model_server
from tests.integration.planning.conftest import Entered
from tests.unit.planning.given import PLAN_REQUEST, plan_answer, step_answer
from workers.llm.backend import ModelBackend
from workers.llm.calls import CallRecord, Usage
from workers.llm.foreign import FAMILIES
from workers.llm.model import LanguageModel
from workers.llm.settings import LlmSettings

PLANNED = Says(plan_answer(step_answer("a")))
GENERAL = {"OpenAIError", "APIError", "APIStatusError"}
"""The base classes of the SDK's errors, which are never raised themselves."""


class Local:
    """A server of one's own, without a key, and a planner that asks it."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.calls: list[CallRecord] = []
        self.models: list[LanguageModel] = []
        self.backend = self.planner()

    def planner(self, **environ: str) -> ModelBackend:
        """A planner with changes of its environment."""
        given = {
            "HOME": "/nowhere",
            "REPLAN_MODEL_PROVIDER": "openai",
            "REPLAN_MODEL": "qwen4",
            "REPLAN_MODEL_EFFORT": "low",
            "OPENAI_BASE_URL": f"{self.server.url}/v1",
        }
        settings = LlmSettings.of(load_settings(given | environ).server)
        self.models.append(LanguageModel(settings, log=Entered(self.calls, lambda: False)))
        return ModelBackend(self.models[-1], settings)

    def refuses(self, parameter: str, *, told: str = "") -> None:
        """The server refuses the next request for that parameter."""
        kind = "invalid_request_error" if told else f"invalid_request_error/{parameter}"
        self.server.will(Fails(400, kind, told or "Unsupported parameter"))

    def error(self) -> ReplanError:
        """The error that planning ends in."""
        with pytest.raises(ReplanError) as raised:
            self.backend.plan(PLAN_REQUEST)
        return raised.value


@pytest.fixture
def local() -> Iterator[Local]:
    """A server and its planner."""
    with model_server() as server:
        made = Local(server)
        yield made
        for model in made.models:
            model.close()


def test_what_a_server_refuses_is_said_another_way_from_then_on(local: Local) -> None:
    """No request that was refused is a call, and the second question needs no second try."""
    local.refuses("max_completion_tokens")
    local.refuses("response_format")
    local.refuses("reasoning_effort")
    local.refuses("stream_options", told="extra fields not permitted: stream_options")
    local.server.will(PLANNED, PLANNED)
    for _ in range(2):
        assert len(local.backend.plan(PLAN_REQUEST).steps) == 1
    assert len(local.calls) == 2
    first, *_, last = local.server.asked
    assert len(local.server.asked) == 6
    assert first.body["max_completion_tokens"] == last.body["max_tokens"] == 32_000
    assert first.body["response_format"]["json_schema"]["strict"] is True
    assert last.body["response_format"] == {"type": "json_object"}
    assert '"depends_on"' in last.system
    assert '"depends_on"' not in first.system
    assert (first.effort, last.effort) == ("low", None)
    assert ("stream_options" in first.body, "stream_options" in last.body) == (True, False)


def test_a_server_that_knows_no_forms_is_told_in_words_alone(local: Local) -> None:
    local.refuses("response_format", told="'json_schema' is not supported by this model")
    local.refuses("response_format")
    local.server.will(PLANNED)
    assert len(local.backend.plan(PLAN_REQUEST).steps) == 1
    assert "response_format" not in local.server.asked[-1].body
    assert '"depends_on"' in local.server.asked[-1].system


def test_the_schema_is_not_told_twice(local: Local) -> None:
    local.refuses("response_format")
    local.server.will(PLANNED)
    local.planner(REPLAN_MODEL_SCHEMA_IN_PROMPT="on").plan(PLAN_REQUEST)
    assert local.server.asked[-1].system.count('"depends_on":') == 1


def test_any_other_refusal_is_not_tried_again(local: Local) -> None:
    local.refuses("messages")
    assert isinstance(local.error(), Rejected)
    assert len(local.server.asked) == 1


def test_a_parameter_is_given_up_only_as_often_as_there_is_another_way(local: Local) -> None:
    for _ in range(3):
        local.refuses("response_format")
    assert isinstance(local.error(), Rejected)
    assert len(local.server.asked) == 3


def test_a_question_that_is_too_long_is_not_made_longer(local: Local) -> None:
    local.server.will(Fails(400, "context_length_exceeded", "max_completion_tokens: too long"))
    error = local.error()
    assert isinstance(error, Rejected)
    assert "too long for the model" in error.reason
    assert len(local.server.asked) == 1


def test_an_account_without_money_is_for_a_person(local: Local) -> None:
    """OpenAI answers it with 429, like a rate limit that passes."""
    local.server.will(Fails(429, "insufficient_quota", "You exceeded your current quota"))
    assert isinstance(local.error(), Misconfigured)


def test_tokens_that_a_server_does_not_tell_are_estimated(local: Local) -> None:
    chunk = (
        b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":'
        b'[{"index":0,"delta":{"content":"{}"},"finish_reason":"stop"}]}\n\n'
    )
    silent = Raw(chunk, content_type="text/event-stream")
    local.server.will(silent, silent)
    assert isinstance(local.error(), Rejected)
    for call in local.calls:
        assert call.estimated
        assert call.usage.input_tokens > 1000
        assert call.usage.output_tokens == 1


def test_openai_itself_needs_a_key_and_a_local_server_does_not(local: Local) -> None:
    local.server.will(PLANNED)
    local.backend.plan(PLAN_REQUEST)
    assert KEY not in str(local.server.asked[0].headers)
    assert local.calls[0].usage == Usage(100, 7, 3, 10)
    with pytest.raises(Misconfigured, match="OPENAI_API_KEY is not set"):
        local.planner(OPENAI_BASE_URL="").plan(PLAN_REQUEST)


def test_every_error_of_the_sdk_is_sorted() -> None:
    """A person must sort a new error class before this program can meet it."""
    public = {name for name in openai.__all__ if name.endswith("Error")}
    assert public > {"RateLimitError", "OAuthError"}
    waiting: list[type[BaseException]] = [openai.OpenAIError]
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if kind.__module__.startswith("openai") and not kind.__name__.startswith("_"):
            public.add(kind.__name__)
    inherited = {"OAuthError": "AuthenticationError"}
    assert {inherited.get(name, name) for name in public} - GENERAL - set(FAMILIES) == set()
