"""Which key a provider of models needs and has not got."""

from shared.domain.config import ModelProvider
from shared.settings.server import ServerSettings


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
    keys = {
        ModelProvider.ANTHROPIC: server.anthropic_api_key or server.anthropic_auth_token,
        ModelProvider.OPENAI: server.openai_api_key,
        ModelProvider.FOUNDRY: server.anthropic_foundry_api_key,
    }
    provider = ModelProvider(server.model_provider)
    key, address = bool(keys.get(provider)), bool(server.openai_base_url)
    return missing_model_key(provider, key=key, base_url=address)
