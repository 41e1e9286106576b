"""Every table. Rows are the state: one query over them serves `watch`; `events` is the history."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, false, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.access_tables import AuditHeadRow, AuditRow, TokenRow
from shared.store.bundle_tables import BundleRow
from shared.store.call_tables import ModelCallRow
from shared.store.delivery_tables import (
    CheckpointRow,
    CheckRunRow,
    DeliveryRow,
    ProjectRow,
    ReviewRow,
    WorktreeRow,
)
from shared.store.fix_tables import FixProofRow, FixRow, FixUseRow
from shared.store.intervention_tables import (
    ApprovalRow,
    InterventionRow,
    SettledClaimRow,
    UnknownPassRow,
)
from shared.store.look_tables import LookRoundRow
from shared.store.note_tables import AttemptNoteRow
from shared.store.output_tables import BlobRow, OutputRow
from shared.store.provenance_tables import ProvenanceRow
from shared.store.repository_tables import RepositoryRow
from shared.store.row import DOLLARS, Row, now, number
from shared.store.secret_tables import SecretGrantRow, SecretScopeRow

__all__ = [
    "ApprovalRow",
    "AttemptNoteRow",
    "AttemptRow",
    "AuditHeadRow",
    "AuditRow",
    "BlobRow",
    "BundleRow",
    "CheckRunRow",
    "CheckpointRow",
    "DeliveryRow",
    "EventRow",
    "FixProofRow",
    "FixRow",
    "FixUseRow",
    "HostRow",
    "InboxRow",
    "InterventionRow",
    "JobRow",
    "LookRoundRow",
    "ModelCallRow",
    "OutputRow",
    "ProjectRow",
    "ProvenanceRow",
    "RepositoryRow",
    "ReviewRow",
    "RevisionRow",
    "Row",
    "RunRow",
    "RunStepRow",
    "SecretGrantRow",
    "SecretScopeRow",
    "SettledClaimRow",
    "TaskRow",
    "TokenRow",
    "UnknownPassRow",
    "WorktreeRow",
]


class TaskRow(Row):
    """A task: both versions of the prompt, its policy, its plan as soon as there is one.

    `cost_cap` is the cap on model costs that a person has set, in dollars; while it is empty, the
    policy's cap holds. `replies` holds the taskmaster's questions with a person's answers; `looks`
    says how far each planning has looked.
    """

    __tablename__ = "tasks"

    id: Mapped[int] = number()
    prompt: Mapped[str]
    improved_prompt: Mapped[str | None]
    phase: Mapped[str]
    policy: Mapped[dict[str, Any]]
    plan: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    plan_given: Mapped[bool] = mapped_column(server_default=text("false"))
    postponed: Mapped[int] = mapped_column(server_default=text("0"))
    unrefined: Mapped[bool] = mapped_column(server_default=text("false"))
    asking: Mapped[bool] = mapped_column(server_default=text("false"))
    replies: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    looks: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    reason: Mapped[str] = mapped_column(server_default="")
    cost_cap: Mapped[Decimal | None] = mapped_column(DOLLARS)
    idempotency_key: Mapped[str | None] = mapped_column(unique=True)
    created_at: Mapped[datetime] = now()
    ended_at: Mapped[datetime | None]

    __table_args__ = (
        Index(
            "ix_tasks_live",
            "id",
            postgresql_where=text("phase NOT IN ('done','error','cancelled')"),
        ),
    )


class HostRow(Row):
    """An enrolled host with its pinned key.

    `jump` names the host through which it is reached; `password`, `passphrase` and `sudo_password`
    name secrets (`${secret:NAME}`) and never hold one. `distrusted` says why nothing may run there
    until a person has enrolled it anew; `labels` are a person's words for its role and environment.
    `sudo_found` is what its last check has found of sudo, None where nobody has looked.
    """

    __tablename__ = "hosts"

    name: Mapped[str] = mapped_column(primary_key=True)
    connection: Mapped[str]
    address: Mapped[str]
    port: Mapped[int]
    user: Mapped[str | None]
    key_path: Mapped[str | None]
    host_key: Mapped[str | None]
    workdir: Mapped[str | None]
    jump: Mapped[str | None]
    password: Mapped[str | None]
    passphrase: Mapped[str | None]
    sudo: Mapped[bool] = mapped_column(server_default=false())
    sudo_password: Mapped[str | None]
    sudo_found: Mapped[str | None]
    distrusted: Mapped[str | None]
    labels: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    created_at: Mapped[datetime] = now()


_RANDOM = "replace(gen_random_uuid()::text, '-', '')"


class RunRow(Row):
    """One task on one target.

    Hosts keep their records of the run under `token`, which no other run has, in this database or
    in another one that works on the same hosts. `added` holds the steps that it has in addition to
    its task's plan, `detailed` by number the subtasks of steps that were bare, with their author.

    A session is a run that delivers: `head` is its newest commit, empty before the first of its
    `accepted` deliveries. While it is `held_open`, a person may add steps to it.
    """

    __tablename__ = "runs"

    id: Mapped[int] = number()
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id", ondelete="CASCADE"))
    target: Mapped[str]
    token: Mapped[str] = mapped_column(server_default=text(_RANDOM))
    phase: Mapped[str]
    reason: Mapped[str] = mapped_column(server_default="")
    added: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    detailed: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    head: Mapped[str | None]
    accepted: Mapped[int] = mapped_column(server_default=text("0"))
    checkpoint: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    held_open: Mapped[bool] = mapped_column(server_default=text("false"))
    paused: Mapped[bool] = mapped_column(server_default=text("false"))
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]

    __table_args__ = (Index("uq_runs_task_id_target", "task_id", "target", unique=True),)


class RunStepRow(Row):
    """A step in a run: its phase and the counters of the error budget.

    `acceptance` says how far its delivery has come, `rejections` counts those of this revision, and
    `accepted_as` is the number of the one that was accepted, 0 for none.
    """

    __tablename__ = "run_steps"

    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    author_role: Mapped[str]
    author_backend: Mapped[str]
    depends_on: Mapped[list[int]]
    recovery: Mapped[str]
    on_failure: Mapped[str]
    phase: Mapped[str]
    revision: Mapped[int]
    pass_no: Mapped[int]
    errors: Mapped[int]
    failures: Mapped[int]
    postponed: Mapped[int]
    forced: Mapped[bool]
    note: Mapped[str]
    answer: Mapped[str | None]
    waits_for: Mapped[str | None]
    unfinished: Mapped[bool] = mapped_column(server_default=text("false"))
    handed_up: Mapped[bool] = mapped_column(server_default=text("false"))
    draft: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    generation: Mapped[int] = mapped_column(server_default=text("0"))
    cleanups: Mapped[int] = mapped_column(server_default=text("0"))
    looks: Mapped[int] = mapped_column(server_default=text("0"))
    looking: Mapped[bool] = mapped_column(server_default=text("false"))
    bare: Mapped[bool] = mapped_column(server_default=text("false"))
    acceptance: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    rejections: Mapped[int] = mapped_column(server_default=text("0"))
    accepted_as: Mapped[int] = mapped_column(server_default=text("0"))
    reason: Mapped[str]
    changed_at: Mapped[datetime] = now()

    __table_args__ = (
        CheckConstraint("(waits_for IS NOT NULL) = (phase = 'waiting')", name="waits_for"),
    )


class RevisionRow(Row):
    """The n-th list of subtasks of a step in a run, n > 0; number 0 stands in the plan.

    `rollback` holds the keys of subtasks of earlier lists to undo before it begins;
    `dropped_checks` the acceptance checks that it gives up, `{check, reason}` each.
    """

    __tablename__ = "revisions"

    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True)
    author_role: Mapped[str]
    author_backend: Mapped[str]
    subtasks: Mapped[list[Any]]
    rollback: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    dropped_checks: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    reason: Mapped[str]
    created_at: Mapped[datetime] = now()


class JobRow(Row):
    """The outbox and the queue: the work, its lease and its fence.

    `state` is open, done or cancelled. An open job is due from `due_at` on; it is free if
    `lease_until` is empty or past. Each claim raises `fence` and adds a random token to `tokens`;
    every write carries the fence and the token of its claim. A
    cancelled job keeps its lease until its worker has released it. `answer` is a person's answer to
    the question of the step. `cancel_attempt` is the key of the one attempt that an operator
    cancelled. `presence` is the number of its worker's presence lock, empty if the worker holds
    none. `lost_at` is when that worker was found lost, empty as soon as one has the job again.
    `heartbeat_at` is when a worker last said that it has the job.
    """

    __tablename__ = "jobs"

    id: Mapped[int] = number()
    kind: Mapped[str]
    queue: Mapped[str]
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id", ondelete="CASCADE"))
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    step: Mapped[int | None]
    revision: Mapped[int]
    pass_no: Mapped[int]
    postponed: Mapped[int] = mapped_column(server_default=text("0"))
    note: Mapped[str] = mapped_column(server_default="")
    answer: Mapped[str | None]
    cancel_attempt: Mapped[str | None]
    looks: Mapped[int] = mapped_column(server_default=text("0"))
    state: Mapped[str] = mapped_column(server_default="open")
    due_at: Mapped[datetime]
    owner: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    presence: Mapped[int | None] = mapped_column(BigInteger)
    lost_at: Mapped[datetime | None]
    heartbeat_at: Mapped[datetime | None]
    fence: Mapped[int] = mapped_column(server_default=text("0"))
    tokens: Mapped[list[str]] = mapped_column(server_default=text("'{}'::text[]"))
    claims: Mapped[int] = mapped_column(server_default=text("0"))
    rung_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = now()
    claimed_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]

    __table_args__ = (
        Index("ix_jobs_open", "due_at", postgresql_where=text("state = 'open'")),
        Index(
            "uq_jobs_slot",
            "task_id",
            text("coalesce(run_id, 0)"),
            text("coalesce(step, 0)"),
            "kind",
            unique=True,
            postgresql_where=text("state = 'open'"),
        ),
        Index("ix_jobs_run_id", "run_id"),
    )


class InboxRow(Row):
    """A reported fact that the coordinator has not processed yet."""

    __tablename__ = "inbox"

    id: Mapped[int] = number()
    task_id: Mapped[int]
    run_id: Mapped[int | None]
    kind: Mapped[str]
    body: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = now()

    __table_args__ = (Index("ix_inbox_task_id", "task_id", "id"),)


class EventRow(Row):
    """The history: every fact that changed something, written in the commit of the change."""

    __tablename__ = "events"

    id: Mapped[int] = number()
    task_id: Mapped[int]
    run_id: Mapped[int | None]
    kind: Mapped[str]
    body: Mapped[dict[str, Any]]
    rules: Mapped[int]
    at: Mapped[datetime] = now()

    __table_args__ = (Index("ix_events_task_id", "task_id", "id"),)


class AttemptRow(Row):
    """An attempt; `outcome` is 'running' until it has ended, `rollback` marks an undo.

    `look` marks a planner's look: its subtask is 0, and its step is 0 while the task as a whole is
    planned. `reason` is text for people, which no code reads; code reads `told_by_person` (written
    only when a person answers), `ended_by`, `unknown`, `left_over` and `prediction`. `body` is the
    result of an agent; a command's result has its own columns. Text is safe and capped; whatever
    did not fit is in `blobs` under its digest, as is the transcript of an agent.
    """

    __tablename__ = "attempts"

    id: Mapped[int] = number()
    key: Mapped[str] = mapped_column(unique=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    step: Mapped[int]
    revision: Mapped[int]
    subtask: Mapped[int]
    pass_no: Mapped[int]
    try_no: Mapped[int]
    number: Mapped[int]
    command: Mapped[str]
    correction: Mapped[str | None]
    outcome: Mapped[str]
    counted: Mapped[bool]
    never_red: Mapped[bool]
    rollback: Mapped[bool] = mapped_column(server_default=text("false"))
    look: Mapped[bool] = mapped_column(server_default=text("false"))
    reason: Mapped[str]
    told_by_person: Mapped[str | None]
    prediction: Mapped[str | None]
    preview: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    rule: Mapped[str | None]
    exit_code: Mapped[int | None]
    ended_by: Mapped[str | None]
    unknown: Mapped[str | None]
    left_over: Mapped[list[Any]] = mapped_column(server_default=text("'[]'::jsonb"))
    stdout: Mapped[str]
    stderr: Mapped[str]
    stdout_size: Mapped[int] = mapped_column(BigInteger)
    stderr_size: Mapped[int] = mapped_column(BigInteger)
    stdout_blob: Mapped[str | None]
    stderr_blob: Mapped[str | None]
    ran_at: Mapped[datetime | None]
    ran_until: Mapped[datetime | None]
    body: Mapped[dict[str, Any] | None]
    transcript_blob: Mapped[str | None]
    check_command: Mapped[str | None]
    check_exit_code: Mapped[int | None]
    check_output: Mapped[str]
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    worker: Mapped[str]

    __table_args__ = (
        Index("ix_attempts_run_id", "run_id", "step", "id"),
        Index(
            "ix_attempts_running", "run_id", "step", postgresql_where=text("outcome = 'running'")
        ),
    )
