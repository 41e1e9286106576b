"""Which model to use and how to reach it."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep, ShellCommand
from shared.domain.plan import PlanningRole
from shared.settings.server import EFFORTS, ServerSettings
from workers.llm.prompts import TASKMASTER

_USUAL = ServerSettings()


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """All durations are in seconds. A role without its own model or effort uses the general one.

    `timeout` is the longest silence of the provider, `max_tokens` the longest answer, including
    thinking. One of `api_key` and `auth_token` is required; neither is ever shown.
    """

    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    base_url: str | None = None
    model: str = _USUAL.model
    models: tuple[tuple[str, str], ...] = ()
    effort: str | None = None
    efforts: tuple[tuple[str, str], ...] = ()
    max_tokens: int = _USUAL.model_max_tokens
    timeout: float = _USUAL.model_timeout
    connect_timeout: float = 10.0

    @classmethod
    def of(cls, server: ServerSettings) -> "LlmSettings":
        """The model settings of the installation."""
        roles = (TASKMASTER, PlanningRole.PLANNER.value, PlanningRole.SUBTASK_PLANNER.value)
        models = ((role, getattr(server, f"{role}_model")) for role in roles)
        efforts = ((role, getattr(server, f"{role}_effort")) for role in roles)
        return cls(
            api_key=server.anthropic_api_key,
            auth_token=server.anthropic_auth_token,
            base_url=server.anthropic_base_url,
            model=server.model,
            models=tuple((role, model) for role, model in models if model),
            effort=server.model_effort,
            efforts=tuple((role, effort) for role, effort in efforts if effort),
            max_tokens=server.model_max_tokens,
            timeout=server.model_timeout,
        )

    def model_of(self, role: str) -> str:
        """The model that a role uses."""
        return dict(self.models).get(role, self.model)

    def effort_of(self, role: str) -> str | None:
        """The effort that a role asks for; None leaves it to the model."""
        return dict(self.efforts).get(role, self.effort)

    def check(self) -> None:
        """Raise Misconfigured for faults that can be found before anything is sent."""
        key = self.api_key or self.auth_token
        if not key:
            raise Misconfigured(
                "no key for the model: neither ANTHROPIC_API_KEY nor ANTHROPIC_AUTH_TOKEN is set "
                "where this worker runs",
                stage="model",
                next_step=ShellCommand("export ANTHROPIC_API_KEY=KEY"),
            )
        if not (key.isascii() and key.isprintable()):
            raise _wrong("the model's key contains characters that are not valid in a key")
        for effort in (self.effort, *(effort for _, effort in self.efforts)):
            if effort is not None and effort not in EFFORTS:
                raise _wrong(f"effort {effort!r} is not known; allowed: {', '.join(EFFORTS)}")
        if self.base_url is not None and not _is_url(self.base_url):
            raise _wrong(
                f"ANTHROPIC_BASE_URL={self.base_url!r} is not a valid http or https address"
            )


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _wrong(reason: str) -> Misconfigured:
    return Misconfigured(reason, stage="model", next_step=NextStep.of("config show"))
