"""How the model is reached and which one it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from shared.domain.errors import Misconfigured
from shared.domain.plan import Role

DEFAULT_MODEL = "claude-sonnet-5-5"
LONGEST_TIMEOUT = 3600
EFFORTS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """Spans in seconds. A role without a model of its own uses `model`.

    `timeout` is the longest silence of the other side, `max_tokens` the longest answer.
    One of `api_key` and `auth_token` is needed, and is never shown.
    """

    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    base_url: str | None = None
    model: str = DEFAULT_MODEL
    taskmaster_model: str | None = None
    planner_model: str | None = None
    subtask_planner_model: str | None = None
    effort: str | None = None
    max_tokens: int = 16_000
    timeout: float = 300.0
    connect_timeout: float = 10.0
    evidence_chars: int = 60_000

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "LlmSettings":
        """The settings named in an environment; what is absent or empty keeps its default.

        ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL, REPLAN_MODEL,
        REPLAN_TASKMASTER_MODEL, REPLAN_PLANNER_MODEL, REPLAN_SUBTASK_PLANNER_MODEL,
        REPLAN_MODEL_EFFORT, REPLAN_MODEL_TIMEOUT (seconds). Raises Misconfigured.
        """
        said = {name: value.strip() for name, value in environ.items() if value.strip()}
        timeout = said.get("REPLAN_MODEL_TIMEOUT", "300")
        try:
            seconds = float(timeout)
        except ValueError:
            seconds = -1.0
        if not 0 < seconds <= LONGEST_TIMEOUT:
            raise _wrong(
                f"REPLAN_MODEL_TIMEOUT={timeout!r} is not a number of seconds "
                f"up to {LONGEST_TIMEOUT}"
            )
        return cls(
            api_key=said.get("ANTHROPIC_API_KEY"),
            auth_token=said.get("ANTHROPIC_AUTH_TOKEN"),
            base_url=said.get("ANTHROPIC_BASE_URL"),
            model=said.get("REPLAN_MODEL", DEFAULT_MODEL),
            taskmaster_model=said.get("REPLAN_TASKMASTER_MODEL"),
            planner_model=said.get("REPLAN_PLANNER_MODEL"),
            subtask_planner_model=said.get("REPLAN_SUBTASK_PLANNER_MODEL"),
            effort=said.get("REPLAN_MODEL_EFFORT"),
            timeout=seconds,
        )

    def model_for_refining(self) -> str:
        """The taskmaster's model."""
        return self.taskmaster_model or self.model

    def model_of(self, role: Role) -> str:
        """The model that plays a planning role."""
        own = {Role.PLANNER: self.planner_model, Role.SUBTASK_PLANNER: self.subtask_planner_model}
        return own.get(role) or self.model

    def check(self) -> None:
        """Raise Misconfigured for what can be seen to be wrong before anything is sent."""
        key = self.api_key or self.auth_token
        if not key:
            raise Misconfigured(
                "no key for the model: neither ANTHROPIC_API_KEY nor ANTHROPIC_AUTH_TOKEN is set "
                "where this worker runs",
                stage="model",
                next_step_cmd="export ANTHROPIC_API_KEY=KEY",
            )
        if not (key.isascii() and key.isprintable()):
            raise _wrong("the model's key contains characters that no key has")
        if self.effort is not None and self.effort not in EFFORTS:
            raise _wrong(f"effort {self.effort!r} is not known; allowed: {', '.join(EFFORTS)}")
        if self.base_url is not None and not _is_url(self.base_url):
            raise _wrong(f"ANTHROPIC_BASE_URL={self.base_url!r} is not an http or https address")


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _wrong(reason: str) -> Misconfigured:
    return Misconfigured(reason, stage="model", next_step_cmd="replan config show")
