"""Which key a provider of models needs and has not got."""

from typing import Final

from shared.domain.config import ModelProvider
from shared.settings.server import ServerSettings

MODEL_KEYS: Final = {
    ModelProvider.ANTHROPIC: "anthropic_api_key",
    ModelProvider.OPENAI: "openai_api_key",
    ModelProvider.BEDROCK: "aws_bearer_token_bedrock",
    ModelProvider.BEDROCK_MANTLE: "aws_bearer_token_bedrock",
    ModelProvider.FOUNDRY: "anthropic_foundry_api_key",
}
"""The setting that holds the key of each provider that has one."""


def missing_model_key(provider: str, *, key: bool, base_url: bool) -> str:
    """Which key is missing; empty where the provider asks for none, or finds it by itself.

    `key` says that the provider has one, `base_url` that it has an address of its own.
    """
    if key:
        return ""
    match provider:
        case ModelProvider.ANTHROPIC:
            return "neither ANTHROPIC_API_KEY nor ANTHROPIC_AUTH_TOKEN is set"
        case ModelProvider.OPENAI if not base_url:
            return "OPENAI_API_KEY is not set"
        case ModelProvider.FOUNDRY:
            return "ANTHROPIC_FOUNDRY_API_KEY is not set"
        case _:
            return ""


def missing_key_of(server: ServerSettings) -> str:
    """The same for the provider that is set."""
    provider = ModelProvider(server.model_provider)
    name = MODEL_KEYS.get(provider)
    key = name is not None and bool(getattr(server, name))
    token = provider is ModelProvider.ANTHROPIC and bool(server.anthropic_auth_token)
    return missing_model_key(provider, key=key or token, base_url=bool(server.openai_base_url))
