"""The `server` scope: how the processes reach each other, and how they are paced."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, NewType

from shared.domain.config import ModelProvider
from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.domain.workspace_limits import WorkspaceLimits

EFFORTS = ("low", "medium", "high", "xhigh", "max")
LOG_LEVELS = ("debug", "info", "warning", "error")

DATABASE_TIMEOUT = 15.0
"""Seconds that Postgres may take to answer."""

WORKSPACES = "~/.replan/workspaces"
"""The folder on a host that holds the workspaces of all repositories."""


Place = NewType("Place", str)
"""A folder, or an address of the form s3://BUCKET/PREFIX."""

BUCKET: Final = re.compile(
    r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>[\w./=+-]*))?", re.ASCII
)
"""The address of a place in a bucket; it never has credentials."""


class GatewayKeeps(StrEnum):
    """What the model gateway keeps of the requests and answers of agents."""

    NOTHING = "nothing"
    NEW = "new"  # what each request adds to the one before
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of an installation; spans in seconds.

    `database_timeout` is how long Postgres may take to answer a statement; a connection on which
    it does not is given up. `lease` is how long a silent worker keeps its job, `heartbeat` how
    often a worker gives a sign of life, `ring_again` how long a job may wait unclaimed before its
    bell rings again, `max_claims` how many workers may vanish with a job before it is given up,
    `threads` how many jobs an executor runs at the same time, `planner_threads` how many jobs a
    worker has at the same time that ask models: those wait more than they work.

    `poll` is how often an idle worker looks for jobs itself, whatever the broker does, `liveness`
    how long a worker may reach neither broker nor database before it ends, `startup_patience` how
    long a starting process waits for the database, `shutdown_grace` how long a stopping worker
    continues before it releases its jobs.

    `host_records_cap` is how many megabytes the records of commands may take up in one account of a
    host; beyond it, the oldest output goes that is recorded in the database.

    `workspaces` is the folder in which agents work, on every host; `~` is the account's home.

    `workspaces_cap` is how many gigabytes the workspaces of one repository may take up on its
    host; beyond it, the oldest go that nobody has used for `workspaces_idle`, if all their files
    are kept. No tree holds a file of more than `workspaces_file_cap` megabytes.

    An executor accepts what one of the `approval_keys` has signed (empty: that in the folder). The
    key that signs a person's approvals is in `approval_key_dir` (None: the data folder).

    `attestation_keys` are the public keys of workers on other machines, whose word for
    what they checked counts here too.

    `vaults` are asked for secrets in that order; the files are in `vault_dir` (None: `secrets` in
    the data folder), and `vault_command` may take `vault_timeout`.

    `delivery_store` keeps the bundles of deliveries (None: `deliveries` in the data folder).

    `model_provider` runs the models of all roles that name no other; each provider has an address
    and keys of its own.

    A role without a model or an effort of its own uses `model` and `model_effort`; `model_ladder`
    names the models of revision 1, 2, … of a step. `model_timeout` is the longest silence of the
    model, `model_call_limit` the longest time of a call, `model_max_tokens` its longest answer.
    `gateway_url` is where agents reach the model gateway, and where it listens; it tries a provider
    that is busy or down for `gateway_patience`, and `gateway_keeps` says what it keeps of requests
    and answers. Those who start agents and the gateway need the same `replan_gateway_key`, unless
    they share a data folder.

    `model_prices` add to, or override, the built-in ones; `daily_cost_cap` is in dollars, 0 means
    no cap. Secrets are never part of the value's text.
    """

    database: str | None = field(default=None, repr=False, metadata={"key": "database_url"})
    broker: str | None = field(default=None, repr=False, metadata={"key": "broker_url"})
    database_timeout: float = DATABASE_TIMEOUT
    lease: float = 45.0
    heartbeat: float = 15.0
    ring_again: float = 5.0
    max_claims: int = 20
    threads: int = 16
    planner_threads: int = 64
    poll: float = 10.0
    liveness: float = 60.0
    startup_patience: float = 300.0
    shutdown_grace: float = 5.0
    data_dir: Path = Path("replan-data")
    host_records_cap: int = 256
    workspaces_cap: int = 20
    workspaces_idle: float = 86_400.0
    workspaces_file_cap: int = 50
    delivery_store: Place | None = None
    approval_keys: tuple[str, ...] = ()
    approval_key_dir: Path | None = None
    attestation_keys: tuple[str, ...] = ()
    log_level: str = "info"
    guard_policy: Path | None = None
    command_previews: bool = True
    runbook_dirs: tuple[Path, ...] = ()
    model_provider: str = ModelProvider.ANTHROPIC.value
    anthropic_base_url: str | None = None
    openai_base_url: str | None = None
    openai_api_version: str | None = None
    bedrock_base_url: str | None = None
    bedrock_region: str | None = None
    vertex_base_url: str | None = None
    vertex_region: str | None = None
    vertex_project: str | None = None
    foundry_base_url: str | None = None
    foundry_resource: str | None = None
    gemini_base_url: str | None = None
    model_schema_in_prompt: bool = False
    model: str = "claude-sonnet-5-5"
    taskmaster_model: str | None = None
    planner_model: str | None = None
    subtask_planner_model: str | None = None
    model_effort: str | None = None
    taskmaster_effort: str | None = None
    planner_effort: str | None = None
    subtask_planner_effort: str | None = None
    model_ladder: tuple[str, ...] = ()
    model_timeout: float = 300.0
    model_call_limit: float = 1800.0
    model_max_tokens: int = 32_000
    model_prices: tuple[str, ...] = ()
    daily_cost_cap: float = 0.0
    gateway_url: str = "http://127.0.0.1:8791"
    gateway_patience: float = 90.0
    gateway_keeps: str = GatewayKeeps.NEW.value
    workspaces: str = WORKSPACES
    vaults: tuple[str, ...] = ("files", "environment")
    vault_dir: Path | None = None
    vault_command: tuple[str, ...] = ()
    vault_timeout: float = 10.0
    anthropic_api_key: str | None = field(default=None, repr=False)
    anthropic_auth_token: str | None = field(default=None, repr=False)
    openai_api_key: str | None = field(default=None, repr=False)
    aws_bearer_token_bedrock: str | None = field(default=None, repr=False)
    aws_secret_access_key: str | None = field(default=None, repr=False)
    aws_session_token: str | None = field(default=None, repr=False)
    anthropic_foundry_api_key: str | None = field(default=None, repr=False)
    gemini_api_key: str | None = field(default=None, repr=False)
    replan_gateway_key: str | None = field(default=None, repr=False)

    @property
    def records_cap_bytes(self) -> int:
        """`host_records_cap` in bytes."""
        return self.host_records_cap * 1_000_000

    @property
    def workspace_limits(self) -> WorkspaceLimits:
        """The limits of workspaces, in bytes and seconds."""
        return WorkspaceLimits(
            cap=self.workspaces_cap * 1_000_000_000,
            idle=self.workspaces_idle,
            largest=self.workspaces_file_cap * 1_000_000,
        )

    @property
    def approval_folder(self) -> Path:
        """The folder of the key that signs approvals."""
        return self.approval_key_dir or self.data_dir

    @property
    def delivery_place(self) -> str:
        """The folder, or the address, of the store of deliveries."""
        return self.delivery_store or str(self.data_dir / "deliveries")

    @property
    def database_url(self) -> str:
        """The address of Postgres; raises Misconfigured if it is not set."""
        return self._address("database_url", self.database)

    @property
    def broker_url(self) -> str:
        """The address of Redis or Valkey; raises Misconfigured if it is not set."""
        return self._address("broker_url", self.broker)

    def _address(self, key: str, value: str | None) -> str:
        if value is not None:
            return value
        raise Misconfigured(
            f"replan is not running: no `replan up` of this user has its data in {self.data_dir} "
            "(one that was started with --data-dir is found with REPLAN_DATA_DIR), and neither "
            f"REPLAN_{key.upper()} nor a settings file says {key}",
            stage="config",
            next_step=NextStep.of("up"),
        )
