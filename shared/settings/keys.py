"""Every key that can be set: its scope, its kind, its default and the allowed values."""

from dataclasses import Field, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, get_type_hints

from shared.domain.config import (
    AUTONOMIES,
    BACKENDS,
    CHECKPOINTS,
    DETAIL_STEPS,
    LIMITS,
    MODEL_PROVIDERS,
    RETRY_STRATEGIES,
    TASKMASTERS,
    FixMemory,
    Policy,
)
from shared.settings.server import EFFORTS, LOG_LEVELS, GatewayKeeps, Place, ServerSettings
from shared.settings.units import UNITS


class KeyScope(StrEnum):
    """The two scopes (S0.9): the installation, and the policy of a task."""

    SERVER = "server"
    AGENT = "agent"


class ValueKind(StrEnum):
    """The kind of a value."""

    FLAG = "true or false"
    WHOLE = "a whole number"
    NUMBER = "a number"
    TEXT = "text"
    TEXTS = "a list of texts"
    PATH = "a file or folder"
    PATHS = "a list of folders"
    PLACE = "a folder, or an address of the form s3://BUCKET/PREFIX"


@dataclass(frozen=True, slots=True)
class Key:
    """One key.

    `field` holds its value; `unit` is what a number counts; `schemes` lists how a URL may begin,
    `beginnings` how a folder on a host may; a `secret` is read only from the environment.
    `formerly` says what `false` and `true` mean for a key that was a switch once.
    """

    name: str
    field: str
    scope: KeyScope
    kind: ValueKind
    default: Any
    about: str
    unit: str = ""
    limits: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    formerly: tuple[str, str] | None = None
    schemes: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ()
    optional: bool = False
    secret: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that set it; the first one that is set wins."""
        if self.secret:
            return (self.name.upper(),)
        name = self.name.upper()
        usual = (f"REPLAN_{self.scope.value.upper()}_{name}", f"REPLAN_{name}")
        return (*usual, *_FOREIGN.get(self.name, ()))

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.schemes:
            return "an address that begins with " + " or ".join(self.schemes)
        if self.beginnings:
            return "a folder that begins with " + " or ".join(self.beginnings)
        if self.limits is not None:
            return f"{self.kind.value} from {self.limits[0]:g} to {self.limits[1]:g}"
        return self.kind.value


_FOREIGN = {
    "anthropic_base_url": ("ANTHROPIC_BASE_URL",),
    "openai_base_url": ("OPENAI_BASE_URL",),
    "openai_api_version": ("OPENAI_API_VERSION",),
    "bedrock_base_url": ("ANTHROPIC_BEDROCK_BASE_URL",),
    "bedrock_region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "vertex_base_url": ("ANTHROPIC_VERTEX_BASE_URL",),
    "vertex_region": ("CLOUD_ML_REGION",),
    "vertex_project": ("ANTHROPIC_VERTEX_PROJECT_ID",),
    "foundry_base_url": ("ANTHROPIC_FOUNDRY_BASE_URL",),
    "gemini_base_url": ("GOOGLE_GEMINI_BASE_URL",),
    "foundry_resource": ("ANTHROPIC_FOUNDRY_RESOURCE",),
}
"""The variables that the providers' own libraries read, for the same keys."""

_LIMITS: dict[str, tuple[float, float]] = {
    **LIMITS,
    "database_timeout": (1, 600),
    "lease": (2, 3600),
    "heartbeat": (0.5, 600),
    "ring_again": (0.1, 300),
    "max_claims": (1, 1000),
    "threads": (1, 512),
    "planner_threads": (1, 512),
    "poll": (0.1, 300),
    "liveness": (1, 3600),
    "startup_patience": (0, 86_400),
    "shutdown_grace": (0, 600),
    "host_records_cap": (10, 100_000),
    "workspaces_cap": (1, 100_000),
    "workspaces_idle": (3600, 604_800),
    "workspaces_file_cap": (1, 10_000),
    "model_timeout": (1, 3600),
    "model_call_limit": (1, 86_400),
    "model_max_tokens": (1000, 128_000),
    "daily_cost_cap": (0, 100_000),
    "gateway_patience": (0, 3600),
    "vault_timeout": (1, 600),
}

_CHOICES = {
    "taskmaster": TASKMASTERS,
    "planner": BACKENDS,
    "subtask_planner": BACKENDS,
    "autonomy": AUTONOMIES,
    "retry_strategy": RETRY_STRATEGIES,
    "fix_memory": tuple(FixMemory),
    "detail_steps": DETAIL_STEPS,
    "checkpoint": CHECKPOINTS,
    "log_level": LOG_LEVELS,
    "model_provider": MODEL_PROVIDERS,
    "gateway_keeps": tuple(GatewayKeeps),
    "model_effort": EFFORTS,
    "taskmaster_effort": EFFORTS,
    "planner_effort": EFFORTS,
    "subtask_planner_effort": EFFORTS,
}

_FORMERLY = {"fix_memory": (FixMemory.OFF.value, FixMemory.AUTO.value)}

_SCHEMES = {
    "database_url": ("postgresql://", "postgresql+psycopg://"),
    "broker_url": ("redis://", "rediss://", "redis+socket://", "sentinel://"),
    **dict.fromkeys(
        (name for name in _FOREIGN if name.endswith("_base_url")), ("https://", "http://")
    ),
    "gateway_url": ("http://",),
}

_BEGINNINGS = {"workspaces": ("/", "~/")}

_SECRET = frozenset(
    {
        "anthropic_api_key",
        "anthropic_auth_token",
        "anthropic_foundry_api_key",
        "aws_bearer_token_bedrock",
        "aws_secret_access_key",
        "aws_session_token",
        "gemini_api_key",
        "openai_api_key",
        "replan_gateway_key",
    }
)

_ABOUT = {
    "database_url": "Postgres, where everything is recorded",
    "broker_url": "Redis or Valkey, the doorbell of the queues",
    "database_timeout": "seconds that Postgres may take to answer a statement",
    "lease": "seconds that a silent worker keeps its job",
    "heartbeat": "seconds between two signs of life of a worker",
    "ring_again": "seconds before the bell rings again for an unclaimed job",
    "max_claims": "workers that may vanish with a job before it is given up",
    "threads": "jobs that an executor runs at the same time",
    "planner_threads": "jobs that a planner has at the same time; they wait for models",
    "poll": "seconds between a worker's own checks for jobs whose bell it missed",
    "liveness": "seconds without broker and database after which a worker ends to be restarted",
    "startup_patience": "seconds that a starting process waits for the database",
    "shutdown_grace": "seconds that a stopping worker continues before it releases its jobs",
    "data_dir": "where `replan up` keeps its data",
    "host_records_cap": "megabytes of records that a host keeps; beyond, the oldest output goes",
    "workspaces_cap": "gigabytes that the workspaces of a repository may take up on its host",
    "workspaces_idle": "seconds after its last use in which no workspace is removed",
    "workspaces_file_cap": "megabytes of a file; no tree holds one that is larger",
    "delivery_store": "where bundles of deliveries are kept: a folder, or s3://BUCKET/PREFIX; "
    "default: `deliveries` in the data folder",
    "approval_keys": "public keys of the people whose approvals an executor accepts",
    "approval_key_dir": "the folder of the key that signs approvals; default: the data folder",
    "attestation_keys": "public keys of other workers whose word for what they checked counts here",
    "log_level": "the log level of the services",
    "guard_policy": "the site's own rules about what may run, besides the built-in ones",
    "command_previews": "find out on the host what a command would change before asking a person",
    "runbook_dirs": "folders of runbooks, read besides the built-in ones",
    "model_provider": "who runs the models, unless a role names another planner",
    "anthropic_base_url": "the address of a server that speaks the Messages API",
    "openai_base_url": "the address of a server that speaks the Chat Completions API, with its /v1",
    "openai_api_version": "the version of Azure OpenAI's older addresses, those with deployments",
    "bedrock_base_url": "the address of Amazon Bedrock, where it is not the region's own",
    "bedrock_region": "the AWS region of Amazon Bedrock",
    "vertex_base_url": "the address of Vertex AI, where it is not the region's own",
    "vertex_region": "the region of Vertex AI; global if it is not set",
    "vertex_project": "the Google Cloud project that pays; that of the credentials if not set",
    "foundry_base_url": "the address of Microsoft Foundry, in place of foundry_resource",
    "foundry_resource": "the name of the Microsoft Foundry resource",
    "gemini_base_url": "the address of a server that speaks the Gemini API",
    "model_schema_in_prompt": "whether questions also tell the form of the answer in words",
    "model": "the default model of all roles",
    "taskmaster_model": "the model that improves prompts",
    "planner_model": "the model that plans the main steps",
    "subtask_planner_model": "the model that details and revises steps",
    "model_effort": "the default effort of all models",
    "taskmaster_effort": "the effort of the model that improves prompts",
    "planner_effort": "the effort of the model that plans the main steps",
    "subtask_planner_effort": "the effort of the model that details and revises steps",
    "model_ladder": "models that revise a step: for revision 1, 2, …, the last one for all later",
    "model_timeout": "seconds of silence after which a model counts as unreachable",
    "model_call_limit": "seconds after which a call to a model is ended",
    "model_max_tokens": "most tokens of an answer, thinking included",
    "model_prices": "dollars per million tokens, as NAME=IN/OUT or NAME=IN/OUT/READ/WRITTEN",
    "daily_cost_cap": "cap on what all models cost per day (UTC), in dollars; 0: no cap",
    "gateway_url": "where agents reach the model gateway, and where it listens",
    "gateway_patience": "seconds for which the gateway tries a provider that is busy or down",
    "gateway_keeps": "what the gateway keeps of requests and answers: nothing, new, or all",
    "workspaces": "the folder on hosts in which agents work",
    "vaults": "where to look for secrets, in this order: files, environment, keyring, command",
    "vault_dir": "the folder of the vault of files; default: `secrets` in the data folder",
    "vault_command": "the command that prints a secret; NAME stands for its name",
    "vault_timeout": "timeout of this command, in seconds",
    "anthropic_api_key": "the key of the model",
    "anthropic_auth_token": "the token of the model, in place of a key",
    "openai_api_key": "the key of OpenAI, or of the server at openai_base_url",
    "aws_bearer_token_bedrock": "the key of Amazon Bedrock, in place of AWS credentials",
    "aws_secret_access_key": "the secret key of AWS, for Amazon Bedrock and S3",
    "aws_session_token": "the token of temporary AWS credentials, for Amazon Bedrock and S3",
    "anthropic_foundry_api_key": "the key of Microsoft Foundry",
    "gemini_api_key": "the key of Gemini, for agents",
    "replan_gateway_key": "the key of agents' tokens, where no data folder is shared",
    "taskmaster_enabled": "whether the taskmaster improves the prompt first",
    "error_threshold_per_step": "failed attempts in a step before its evidence goes to the planner",
    "max_retries_per_command": "corrected tries of one command",
    "auto_correction_enabled": "whether failed commands are corrected and tried again",
    "send_to_planner_after_threshold": "whether the evidence goes to the planner automatically",
    "human_escalation_threshold": "revisions of a step before a person is asked",
    "forbidden_commands": "commands that never run, besides the built-in ones; a task adds to them",
    "dry_run_mode": "whether to change nothing and only predict each subtask",
    "max_retry_count": "failed passes of a step whose recovery is retry",
    "retry_delay": "seconds before a step is tried again, doubled each time",
    "max_transient_failures": "times in a row that a job is postponed before a person is asked",
    "subtask_timeout": "timeout of a command, in seconds, unless the plan says otherwise",
    "check_timeout": "timeout of a check, in seconds",
    "taskmaster": "who improves the prompt",
    "planner": "who plans the main steps",
    "subtask_planner": "who details and revises the steps",
    "targeted_evidence": "whether the host is asked about what a failed command names",
    "hold_bundles": "whether every bundle waits until a person sends it (replan bundle send)",
    "autonomy": "what waits for an approval: all that follows, what needs it, or the whole plan",
    "approval_ttl": "seconds that an approval is valid",
    "task_cost_cap": "cap on the cost of models for the task, in dollars; 0: no cap",
    "agent_cost_budget": "dollars that agents of a subtask may cost, unless a plan says it; 0: any",
    "fix_memory": "whether remembered fixes are off, hints to planners, or tried first where safe",
    "retry_strategy": "what decides on another try: a fixed count, by_class of error, or the model",
    "look_rounds": "times that a planner may look at hosts before it answers; 0: never",
    "detail_steps": "when steps get commands: at_once, or in_turn, when what they need is done",
    "deliver": "whether work in a repository ends as deliveries, which are accepted and published",
    "project": "whether the planner works as a manager: an analysis, and development tasks",
    "max_delivery_attempts": "rejected deliveries of a step after which its planner is asked",
    "checkpoint": "when accepted work is published: at_end, once nothing more goes on by itself, "
    "also while another delivery waits for a person; or by_hand",
    "accept_at_once": "deliveries of a session that are checked at the same time",
    "retry_jitter": "share of each waiting time by which it is shortened at random",
}

_KINDS: dict[object, ValueKind] = {
    bool: ValueKind.FLAG,
    int: ValueKind.WHOLE,
    float: ValueKind.NUMBER,
    str: ValueKind.TEXT,
    str | None: ValueKind.TEXT,
    tuple[str, ...]: ValueKind.TEXTS,
    FixMemory: ValueKind.TEXT,
    Path: ValueKind.PATH,
    Path | None: ValueKind.PATH,
    Place | None: ValueKind.PLACE,
    tuple[Path, ...]: ValueKind.PATHS,
}


def _keys(scope: KeyScope, values: type[Policy] | type[ServerSettings]) -> dict[str, Key]:
    hints = get_type_hints(values)
    listed = (_key(scope, field, hints[field.name]) for field in fields(values))
    return {key.name: key for key in listed}


def _key(scope: KeyScope, field: Field[Any], hint: object) -> Key:
    name = field.metadata.get("key", field.name)
    return Key(
        name=name,
        field=field.name,
        scope=scope,
        kind=_KINDS[hint],
        default=field.default,
        about=_ABOUT.get(name, ""),
        unit=UNITS.get(name, ""),
        limits=_LIMITS.get(name),
        choices=_CHOICES.get(name, ()),
        formerly=_FORMERLY.get(name),
        schemes=_SCHEMES.get(name, ()),
        beginnings=_BEGINNINGS.get(name, ()),
        optional=hint in (str | None, Path | None, Place | None),
        secret=name in _SECRET,
    )


KEYS: dict[str, Key] = {
    **_keys(KeyScope.SERVER, ServerSettings),
    **_keys(KeyScope.AGENT, Policy),
}
"""Every key under its name; a name belongs to one scope only."""
