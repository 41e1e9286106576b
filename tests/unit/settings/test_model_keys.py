"""Which key of a model is missing, as `replan up` and planners say it."""

from dataclasses import replace

import pytest

from shared.settings import ServerSettings, missing_key_of
from workers.llm.settings import LlmSettings

PLAIN = ServerSettings()


@pytest.mark.parametrize(
    ("server", "missing"),
    [
        (PLAIN, "ANTHROPIC_API_KEY"),
        (replace(PLAIN, anthropic_api_key="k"), ""),
        (replace(PLAIN, anthropic_auth_token="k"), ""),
        (replace(PLAIN, anthropic_api_key="k", model_provider="openai"), "OPENAI_API_KEY"),
        (replace(PLAIN, openai_base_url="http://127.0.0.1:1", model_provider="openai"), ""),
        (replace(PLAIN, model_provider="foundry"), "ANTHROPIC_FOUNDRY_API_KEY"),
        (replace(PLAIN, model_provider="bedrock"), ""),
    ],
)
def test_the_key_of_the_provider_is_named(server: ServerSettings, missing: str) -> None:
    told = missing_key_of(server)
    assert bool(told) == bool(missing)
    assert missing in told
    assert bool(LlmSettings.of(server).api_key or LlmSettings.of(server).auth_token) <= (not told)
