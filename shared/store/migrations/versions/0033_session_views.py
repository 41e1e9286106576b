"""Sessions under fixed names (S2.19-S2.26): the views of the schema `ledger`."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

_IN_SESSIONS = """
    SELECT runs.id AS run_id, runs.task_id, runs.target,
           'T' || runs.task_id || '@' || runs.target AS session_id
    FROM public.runs JOIN public.tasks ON tasks.id = runs.task_id
    WHERE tasks.policy ->> 'deliver' = 'true'
      AND (runs.head IS NOT NULL OR runs.held_open
           OR EXISTS (SELECT FROM public.repositories WHERE repositories.name = runs.target)
           OR EXISTS (SELECT FROM public.deliveries WHERE deliveries.run_id = runs.id))
"""
"""A session is a run in a repository whose task has its work delivered."""

_SESSIONS = """
    SELECT mine.session_id AS id, mine.target AS project_id, runs.phase AS status,
           tasks.created_at, runs.ended_at AS closed_at,
           jsonb_build_object(
               'goal', tasks.prompt, 'task', runs.task_id, 'run', runs.id, 'head', runs.head,
               'accepted', runs.accepted, 'checkpoint', runs.checkpoint,
               'held_open', runs.held_open, 'paused', runs.paused, 'reason', runs.reason
           ) AS meta_json
    FROM ledger.runs_of_sessions mine
    JOIN public.runs ON runs.id = mine.run_id JOIN public.tasks ON tasks.id = mine.task_id
"""

_ISSUES = """
    SELECT mine.session_id, mine.run_id, mine.task_id, mine.target, planned.step,
           CASE WHEN planned.body ->> 'key' ~ '^L-[0-9]{6,}$' THEN planned.body ->> 'key'
                ELSE 'L-' || lpad(mine.task_id::text, greatest(3, length(mine.task_id::text)), '0')
                          || lpad(planned.step::text, greatest(3, length(planned.step::text)), '0')
           END AS issue_id,
           (SELECT coalesce(subtask -> 'agent' ->> 'runner',
                            subtask -> 'agent' -> 'runners' -> 0 ->> 'runner')
            FROM jsonb_array_elements(planned.body -> 'subtasks') AS subtask
            WHERE subtask ->> 'kind' = 'agent' LIMIT 1) AS runner
    FROM ledger.runs_of_sessions mine
    JOIN public.planned_steps planned ON planned.run_id = mine.run_id
"""
"""The issues of sessions: their steps, under the names that deliveries have for them."""

_PLANS = """
    SELECT issues.session_id AS id, issues.session_id, min(tasks.created_at) AS created_at,
           jsonb_agg(issues.issue_id ORDER BY issues.step) AS selector_json,
           coalesce(jsonb_object_agg(issues.issue_id, issues.runner)
                        FILTER (WHERE issues.runner IS NOT NULL), '{}') AS assigns_json
    FROM ledger.issues
    JOIN public.runs ON runs.id = issues.run_id JOIN public.tasks ON tasks.id = runs.task_id
    GROUP BY issues.session_id
"""

_ATTEMPTS = """
    SELECT 'T' || issues.task_id || '.' || passes.step || '-r' || passes.revision
               || '-p' || passes.pass_no || '@' || issues.target AS id,
           issues.session_id,
           coalesce(deliveries.issue_id, issues.issue_id) AS issue_id, worktrees.name AS worktree,
           newest.outcome AS status, coalesce(deliveries.base, newest.body ->> 'base') AS base_sha,
           coalesce(deliveries.tree, newest.body ->> 'tree') AS result_sha,
           passes.started_at, passes.finished_at,
           substring(newest.worker FROM '[.]([0-9]+)@')::bigint AS pid,
           coalesce(jobs.heartbeat_at, passes.finished_at) AS heartbeat_at, newest.exit_code,
           CASE WHEN newest.outcome <> 'running' THEN newest.outcome = 'ok' END AS ok,
           deliveries.deliverables AS deliverables_json,
           jsonb_build_object(
               'attempt', newest.key, 'reason', newest.reason, 'worker', newest.worker,
               'rejection', deliveries.rejection, 'rejected_because', deliveries.reason
           ) AS diagnostics_json
    FROM (
        SELECT run_id, step, revision, pass_no, min(started_at) AS started_at,
               CASE WHEN NOT bool_or(outcome = 'running') THEN max(ended_at) END AS finished_at,
               max(id) AS newest
        FROM public.attempts WHERE NOT look GROUP BY run_id, step, revision, pass_no
    ) AS passes
    JOIN public.attempts newest ON newest.id = passes.newest
    JOIN ledger.issues ON issues.run_id = passes.run_id AND issues.step = passes.step
    LEFT JOIN public.deliveries
      ON deliveries.run_id = passes.run_id AND deliveries.step = passes.step
     AND deliveries.revision = passes.revision AND deliveries.pass_no = passes.pass_no
    LEFT JOIN public.jobs
      ON jobs.run_id = passes.run_id AND jobs.step = passes.step AND jobs.kind = 'execute'
     AND jobs.revision = passes.revision AND jobs.pass_no = passes.pass_no AND jobs.state = 'open'
    LEFT JOIN LATERAL (
        SELECT name FROM public.worktrees
        WHERE worktrees.run_id = passes.run_id AND worktrees.step = passes.step
        ORDER BY (state ->> 'pass_no')::bigint = passes.pass_no DESC NULLS LAST, last_seen_at DESC
        LIMIT 1
    ) AS worktrees ON true
"""
"""An attempt of a session is a pass; what ended it is the newest try in it."""

_DELIVERIES = """
    SELECT deliveries.id, 'T' || runs.task_id || '.' || deliveries.step
               || '-r' || deliveries.revision || '-p' || deliveries.pass_no || '@' || runs.target
               AS attempt_id,
           deliveries.status, deliveries.created_at, deliveries.uri AS patch_uri,
           deliveries.sha256 AS patch_sha256, deliveries.size AS patch_size,
           deliveries.deliverables AS deliverables_json,
           deliveries.stats || jsonb_build_object(
               'issue_id', deliveries.issue_id, 'base', deliveries.base, 'tree', deliveries.tree,
               'commit', deliveries.commit, 'trust', deliveries.trust,
               'findings', deliveries.findings, 'rejection', deliveries.rejection,
               'reason', deliveries.reason, 'settled_by', deliveries.settled_by,
               'settled_at', deliveries.settled_at
           ) AS summary_json
    FROM public.deliveries JOIN public.runs ON runs.id = deliveries.run_id
"""

_CHECK_RUNS = """
    SELECT id, delivery_id, status, started_at, finished_at, ok,
           report || jsonb_build_object(
               'turn', turn, 'onto', onto, 'commit', commit, 'tree', tree, 'same_as', same_as
           ) AS report_json,
           report ->> 'log_uri' AS log_uri
    FROM public.check_runs
"""

_CHECKPOINTS = """
    SELECT checkpoints.id, 'T' || runs.task_id || '@' || runs.target AS session_id,
           checkpoints.status, checkpoints.started_at, checkpoints.finished_at,
           checkpoints.head_local AS session_head_sha_local,
           checkpoints.head_remote AS session_head_sha_remote,
           checkpoints.synced AS synced_worktrees_json,
           checkpoints.report || jsonb_build_object(
               'number', checkpoints.number, 'stage', checkpoints.stage,
               'remote', checkpoints.remote, 'ref', checkpoints.ref,
               'accepted', checkpoints.accepted
           ) AS report_json
    FROM public.checkpoints JOIN public.runs ON runs.id = checkpoints.run_id
"""

_EVENTS = """
    SELECT events.id, events.at AS ts, events.kind, mine.session_id,
           'T' || mine.task_id || '.' || (events.body ->> 'step') || '-r'
               || (events.body ->> 'revision') || '-p' || (events.body ->> 'pass_no')
               || '@' || mine.target AS attempt_id,
           (SELECT deliveries.id FROM public.deliveries
            WHERE deliveries.sha256 = coalesce(
                events.body -> 'published' ->> 'delivery', events.body ->> 'delivery'
            )) AS delivery_id,
           CASE WHEN events.kind = 'CheckpointFinished' THEN (
               SELECT checkpoints.id FROM public.checkpoints
               WHERE checkpoints.run_id = events.run_id
                 AND checkpoints.number = (events.body ->> 'number')::bigint
           ) END AS checkpoint_id,
           events.body AS payload_json
    FROM public.events
    JOIN public.tasks ON tasks.id = events.task_id AND tasks.policy ->> 'deliver' = 'true'
    LEFT JOIN ledger.runs_of_sessions mine ON mine.run_id = events.run_id
"""

_WORKTREES = """
    SELECT name AS id, repository AS project_id, path,
           state || jsonb_build_object('host', host, 'run', run_id, 'step', step) AS state_json,
           last_seen_at
    FROM public.worktrees
"""


def upgrade() -> None:
    """Add columns that are empty in old rows, a table, and views in a schema of their own."""
    op.add_column("jobs", sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "worktrees",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("repository", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column(
            "state", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False
        ),
        sa.Column(
            "last_seen_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_worktrees_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_worktrees")),
    )
    op.create_index("ix_worktrees_run_id", "worktrees", ["run_id", "step"])
    op.execute("CREATE SCHEMA ledger")
    op.execute("COMMENT ON SCHEMA ledger IS 'Sessions and deliveries under fixed names, to read'")
    for name, query in (
        ("runs_of_sessions", _IN_SESSIONS),
        ("sessions", _SESSIONS),
        ("issues", _ISSUES),
        ("plans", _PLANS),
        ("worktrees", _WORKTREES),
        ("attempts", _ATTEMPTS),
        ("deliveries", _DELIVERIES),
        ("check_runs", _CHECK_RUNS),
        ("checkpoints", _CHECKPOINTS),
        ("events", _EVENTS),
    ):
        op.execute(f"CREATE VIEW ledger.{name} AS {query}")
