"""A model at each provider, reached through its real client, and the server that plays it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from shared.contracts.schemas import schema_of
from shared.domain.config import ModelProvider
from shared.domain.errors import ReplanError
from shared.settings import load_settings
from tests.fakes.model_server import KEY, Asked, ModelServer
from workers.llm.calls import CallRecord, ModelQuestion, NoLog, Speaker, Turn
from workers.llm.model import LanguageModel
from workers.llm.settings import LlmSettings


@dataclass(frozen=True, slots=True)
class Place:
    """A provider as a worker reaches it: its settings, and what its requests look like.

    `settings` and `path` name the server's address URL. `header` carries the key.
    """

    provider: ModelProvider
    model: str
    path: str
    settings: Mapping[str, str]
    header: str = "authorization"
    environ: Mapping[str, str] = field(default_factory=dict)


AWS = {"AWS_ACCESS_KEY_ID": "AKIAMADEUP", "AWS_SECRET_ACCESS_KEY": KEY, "AWS_REGION": "eu-west-1"}
SONNET = "claude-sonnet-5-5"
ON_BEDROCK = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
PLACES = {
    "anthropic": Place(
        ModelProvider.ANTHROPIC,
        SONNET,
        "/v1/messages",
        {"ANTHROPIC_BASE_URL": "URL", "ANTHROPIC_API_KEY": KEY},
    ),
    "openai": Place(
        ModelProvider.OPENAI,
        "gpt-6.2-sol",
        "/v1/chat/completions",
        {"OPENAI_BASE_URL": "URL/v1", "OPENAI_API_KEY": KEY},
    ),
    "azure": Place(
        ModelProvider.OPENAI,
        "our-deployment",
        "/openai/deployments/our-deployment/chat/completions?api-version=2026-01-01",
        {
            "OPENAI_BASE_URL": "URL",
            "OPENAI_API_KEY": KEY,
            "OPENAI_API_VERSION": "2026-01-01",
        },
        "api-key",
    ),
    "bedrock": Place(
        ModelProvider.BEDROCK,
        ON_BEDROCK,
        f"/model/{ON_BEDROCK}/invoke-with-response-stream",
        {"ANTHROPIC_BEDROCK_BASE_URL": "URL"},
        environ=AWS,
    ),
    "bedrock-mantle": Place(
        ModelProvider.BEDROCK_MANTLE,
        "anthropic.claude-opus-5-5",
        "/anthropic/v1/messages",
        {"ANTHROPIC_BEDROCK_BASE_URL": "URL/anthropic", "AWS_BEARER_TOKEN_BEDROCK": KEY},
    ),
    "vertex": Place(
        ModelProvider.VERTEX,
        "claude-opus-4-5@20251101",
        "/v1/projects/our-project/locations/europe-west1/publishers/anthropic/models/"
        "claude-opus-4-5@20251101:streamRawPredict",
        {
            "ANTHROPIC_VERTEX_BASE_URL": "URL/v1",
            "CLOUD_ML_REGION": "europe-west1",
            "ANTHROPIC_VERTEX_PROJECT_ID": "our-project",
        },
    ),
    "foundry": Place(
        ModelProvider.FOUNDRY,
        SONNET,
        "/anthropic/v1/messages",
        {"ANTHROPIC_FOUNDRY_BASE_URL": "URL/anthropic", "ANTHROPIC_FOUNDRY_API_KEY": KEY},
        "api-key",
    ),
}


class Kept(NoLog):
    """A log that keeps how calls ended; `wanted` is whether their answers still are."""

    def __init__(self) -> None:
        self.calls: list[CallRecord] = []
        self.wanted: Callable[[], bool] = lambda: True

    def end(self, number: int, record: CallRecord) -> None:  # noqa: ARG002 - a log's promise
        """Keep it."""
        self.calls.append(record)

    def withdrawal(self) -> Callable[[], bool]:
        """Whether the answer is not wanted any more."""
        return lambda: not self.wanted()


class Asking:
    """A model at a place, the server that plays it, and what was recorded."""

    def __init__(self, place: Place, server: ModelServer) -> None:
        self.place = place
        self.server = server
        self.log = Kept()
        self._made: list[LanguageModel] = []

    def settings(self, **changes: str) -> LlmSettings:
        """How the model is reached, with changes of the environment."""
        given = {
            name: text.replace("URL", self.server.url) for name, text in self.place.settings.items()
        }
        environ = {
            "HOME": "/nowhere",
            "REPLAN_MODEL": self.place.model,
            "REPLAN_MODEL_PROVIDER": self.place.provider,
            **given,
            **self.place.environ,
            **changes,
        }
        return LlmSettings.of(load_settings(environ).server)

    def model(self, **changes: str) -> LanguageModel:
        """The model as a worker makes it."""
        made = LanguageModel(self.settings(**changes), log=self.log)
        self._made.append(made)
        return made

    def question(self, **changes: Any) -> ModelQuestion:
        """A question with everything in it."""
        given: dict[str, Any] = {
            "purpose": "plan",
            "role": "planner",
            "prompt": "plan.v1",
            "model": self.place.model,
            "system": ("the house rules", "you plan"),
            "turns": (Turn(Speaker.USER, "do it"),),
            "schema": schema_of("plan-answer"),
        }
        return ModelQuestion(**(given | changes))

    def fails(self, **changes: str) -> ReplanError:
        """The error that a question ends in."""
        with pytest.raises(ReplanError) as raised:
            self.model(**changes).ask(self.question())
        return raised.value

    @property
    def asked(self) -> Asked:
        """The one request that was made."""
        (request,) = self.server.asked
        return request

    def close(self) -> None:
        """Close the connections."""
        for model in self._made:
            model.close()
