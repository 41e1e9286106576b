"""Which model to use and how to reach it."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from shared.domain.author import PlanningRole
from shared.domain.config import ModelProvider
from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.settings.model_keys import MODEL_KEYS, missing_model_key
from shared.settings.server import EFFORTS, ServerSettings
from workers.llm.prompts import TASKMASTER
from workers.llm.providers import PROVIDERS, SET_MODEL, ProviderInfo

_USUAL = ServerSettings()

_ADDRESS = {
    ModelProvider.ANTHROPIC: "anthropic_base_url",
    ModelProvider.OPENAI: "openai_base_url",
    ModelProvider.BEDROCK: "bedrock_base_url",
    ModelProvider.BEDROCK_MANTLE: "bedrock_base_url",
    ModelProvider.VERTEX: "vertex_base_url",
    ModelProvider.FOUNDRY: "foundry_base_url",
}
_REGION = {
    ModelProvider.BEDROCK: "bedrock_region",
    ModelProvider.BEDROCK_MANTLE: "bedrock_region",
    ModelProvider.VERTEX: "vertex_region",
}


_ON_AWS = frozenset({ModelProvider.BEDROCK, ModelProvider.BEDROCK_MANTLE})


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """All durations are in seconds. A role without its own model or effort uses the general one.

    `timeout` is the longest silence of the provider, `max_tokens` the longest answer, including
    thinking, `call_limit` the longest time that a call may take. The keys are never shown;
    `other_secrets` are those that the provider's library finds by itself. `schema_in_prompt` says
    that questions also carry the JSON Schema of the answer as text. `region`, `project`, `resource`
    and `api_version` belong to single providers. `ladder` names the models that revise a step: one
    for each revision in turn, the last one also for all later ones.
    """

    provider: ModelProvider = ModelProvider.ANTHROPIC
    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    other_secrets: tuple[str, ...] = field(default=(), repr=False)
    base_url: str | None = None
    region: str | None = None
    project: str | None = None
    resource: str | None = None
    api_version: str | None = None
    schema_in_prompt: bool = False
    model: str = _USUAL.model
    models: tuple[tuple[str, str], ...] = ()
    effort: str | None = None
    efforts: tuple[tuple[str, str], ...] = ()
    max_tokens: int = _USUAL.model_max_tokens
    timeout: float = _USUAL.model_timeout
    call_limit: float = _USUAL.model_call_limit
    ladder: tuple[str, ...] = ()
    connect_timeout: float = 10.0

    @classmethod
    def of(cls, server: ServerSettings, provider: str | None = None) -> "LlmSettings":
        """The settings of the installation for a provider; None means the usual provider."""
        chosen = ModelProvider(provider or server.model_provider)
        roles = (TASKMASTER, PlanningRole.PLANNER.value, PlanningRole.SUBTASK_PLANNER.value)
        models = ((role, getattr(server, f"{role}_model")) for role in roles)
        efforts = ((role, getattr(server, f"{role}_effort")) for role in roles)
        anthropic = chosen is ModelProvider.ANTHROPIC
        return cls(
            provider=chosen,
            api_key=_own(server, MODEL_KEYS, chosen),
            auth_token=server.anthropic_auth_token if anthropic else None,
            other_secrets=_aws_secrets(server) if chosen in _ON_AWS else (),
            base_url=_own(server, _ADDRESS, chosen),
            region=_own(server, _REGION, chosen),
            project=server.vertex_project,
            resource=server.foundry_resource,
            api_version=server.openai_api_version,
            schema_in_prompt=server.model_schema_in_prompt,
            model=server.model,
            models=tuple((role, model) for role, model in models if model),
            effort=server.model_effort,
            efforts=tuple((role, effort) for role, effort in efforts if effort),
            max_tokens=server.model_max_tokens,
            timeout=server.model_timeout,
            call_limit=server.model_call_limit,
            ladder=server.model_ladder,
        )

    @property
    def info(self) -> ProviderInfo:
        """What is particular to the provider."""
        return PROVIDERS[self.provider]

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys that must not be shown."""
        keys = (self.api_key, self.auth_token, *self.other_secrets)
        return tuple(key for key in keys if key)

    def model_of(self, role: str) -> str:
        """The model that a role uses."""
        return dict(self.models).get(role, self.model)

    def models_for(self, role: str, revision: int = 0) -> tuple[str, ...]:
        """The model that makes that revision (0: the first plan), and the stronger ones after it.

        Without a ladder, it is the model of the role.
        """
        rungs = (self.model_of(role), *self.ladder)
        above = rungs[min(revision, len(rungs) - 1) :]
        return tuple(dict.fromkeys(above))

    def effort_of(self, role: str) -> str | None:
        """The effort that a role asks for; None leaves it to the model."""
        return dict(self.efforts).get(role, self.effort)

    def check(self, model: str) -> None:
        """Raise Misconfigured for faults that can be found before anything is sent."""
        self._check_key()
        for effort in (self.effort, *(effort for _, effort in self.efforts)):
            if effort is not None and effort not in EFFORTS:
                raise _wrong(f"effort {effort!r} is not known; allowed: {', '.join(EFFORTS)}")
        if self.base_url is not None and not _is_url(self.base_url):
            name = _ADDRESS[self.provider]
            raise _wrong(f"{name}={self.base_url!r} is not a valid http or https address")
        self._check_place()
        if not model:
            raise Misconfigured(
                f"no model is set: the provider {self.provider} has no default model",
                stage="model",
                next_step=SET_MODEL,
            )
        self.info.require_library(self.provider)

    def _check_key(self) -> None:
        missing = missing_model_key(
            self.provider,
            key=bool(self.api_key or self.auth_token),
            base_url=self.base_url is not None,
        )
        if missing:
            raise Misconfigured(
                f"no key for the model: {missing} where this worker runs",
                stage="model",
                next_step=self.info.sign_in,
            )
        if not all(key.isascii() and key.isprintable() for key in self.secrets):
            raise _wrong("the model's key contains characters that are not valid in a key")

    def _check_place(self) -> None:
        """Raise Misconfigured if the address cannot be told from what is set."""
        if self.provider is ModelProvider.FOUNDRY and not (self.base_url or self.resource):
            raise _wrong("neither foundry_resource nor foundry_base_url is set")
        if self.provider is ModelProvider.OPENAI and self.api_version and not self.base_url:
            raise _wrong("openai_api_version is set, and openai_base_url, which it needs, is not")


def _aws_secrets(server: ServerSettings) -> tuple[str, ...]:
    given = (server.aws_secret_access_key, server.aws_session_token)
    return tuple(secret for secret in given if secret)


def _own(
    server: ServerSettings, keys: dict[ModelProvider, str], provider: ModelProvider
) -> str | None:
    """The value of the key that the provider has among these; None if it has none."""
    name = keys.get(provider)
    found: str | None = None if name is None else getattr(server, name)
    return found


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _wrong(reason: str) -> Misconfigured:
    return Misconfigured(reason, stage="model", next_step=NextStep.of("config show"))
