"""Sessions as rows: what a session of any size leaves in the database."""

import json

from sqlalchemy import Connection, text

from shared.domain.agent import AgentWork
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.plan import Plan, Step, Subtask, SubtaskKind
from shared.wire import to_json

_TASK = text("""
    INSERT INTO tasks (prompt, phase, policy, plan, plan_given)
    VALUES (:goal, 'running', CAST(:policy AS jsonb), CAST(:plan AS jsonb), true) RETURNING id
""")
_REPOSITORY = text("""
    INSERT INTO repositories (name, host, path, setup_timeout)
    VALUES (:name, 'localhost', '/src/app', 60) ON CONFLICT DO NOTHING
""")
_RUN = text("""
    INSERT INTO runs (task_id, target, phase, head, accepted, started_at)
    VALUES (:task_id, :target, 'running', repeat('e', 40), :accepted, clock_timestamp())
    RETURNING id
""")
_STEPS = text("""
    INSERT INTO run_steps (run_id, step, title, author_role, author_backend, depends_on, recovery,
        on_failure, phase, revision, pass_no, errors, failures, postponed, forced, note, reason,
        acceptance, accepted_as)
    SELECT :run_id, n, 'step ' || n, 'human', 'human', '{}', 'replan', 'stop',
           CASE WHEN n <= :accepted THEN 'accepted' ELSE 'accepting' END, 0, 1, 0, 0, 0, false,
           '', '', CASE WHEN n > :accepted THEN jsonb_build_object(
               'published', jsonb_build_object(
                   'delivery', encode(sha256(convert_to(:run_id || '-' || n, 'UTF8')), 'hex')),
               'stage', 'queued', 'place', n) END,
           CASE WHEN n <= :accepted THEN n ELSE 0 END
    FROM generate_series(1, :number) AS n
""")
_ATTEMPTS = text("""
    INSERT INTO attempts (key, run_id, step, revision, subtask, pass_no, try_no, number, command,
        outcome, counted, never_red, reason, exit_code, stdout, stderr, stdout_size, stderr_size,
        check_output, started_at, ran_at, ended_at, worker, body)
    SELECT 'R' || :run_id || '-' || n || '-r0-1-p1-t0', :run_id, n, 0, 1, 1, 0, 1, 'mend it', 'ok',
           false, false, '', 0, '', '', 0, 0, '', clock_timestamp(), clock_timestamp(),
           clock_timestamp(), 'execution.4711@here', '{"base": "b1"}'
    FROM generate_series(1, :number) AS n
""")
_DELIVERIES = text("""
    INSERT INTO deliveries (run_id, step, revision, pass_no, attempt_key, runner, issue_id, sha256,
        uri, size, base, tree, deliverables, stats, trust, status, commit, settled_at)
    SELECT :run_id, n, 0, 1, 'R' || :run_id || '-' || n || '-r0-1-p1-t0', 'claude-code',
           'L-' || lpad(n::text, 6, '0'),
           encode(sha256(convert_to(:run_id || '-' || n, 'UTF8')), 'hex'), 'file:///store', 512,
           repeat('b', 40), repeat('c', 40),
           '{"schema_version": 1, "summary": ["it works"], "changed_files": ["a.py"],
             "how_to_verify": ["make test"], "risks": []}',
           '{"files": 1, "added": 3, "deleted": 2}', 'checks',
           CASE WHEN n <= :accepted THEN 'accepted' ELSE 'published' END,
           CASE WHEN n <= :accepted THEN repeat('d', 40) END,
           CASE WHEN n <= :accepted THEN clock_timestamp() END
    FROM generate_series(1, :number) AS n
""")
_CHECK_RUNS = text("""
    INSERT INTO check_runs (delivery_id, turn, status, onto, commit, tree, repository, checks, ok,
        report, envelope, finished_at)
    SELECT id, 1, 'passed', repeat('b', 40), repeat('d', 40), repeat('c', 40), :target, 'x', true,
           '{"checks": [{"command": "make test", "ok": true, "told": "exit code 0",
             "seconds": 1.5}]}', '{}', clock_timestamp()
    FROM deliveries WHERE run_id = :run_id AND status = 'accepted'
""")
_CHECKPOINT = text("""
    INSERT INTO checkpoints (run_id, number, status, stage, remote, ref, head_local, head_remote,
        accepted, finished_at)
    VALUES (:run_id, 1, 'complete', 'done', '/srv/app.git', :ref, repeat('e', 40), repeat('e', 40),
            1, clock_timestamp())
""")
_WORKTREE = text("""
    INSERT INTO worktrees (name, run_id, step, repository, host, path)
    VALUES (:run_id || '-1', :run_id, 1, :target, 'localhost', '/work/1')
""")
_EVENTS = text("""
    INSERT INTO events (task_id, run_id, kind, body, rules) VALUES
        (:task_id, NULL, 'TaskSubmitted', '{}', 1),
        (:task_id, :run_id, 'PassFinished', jsonb_build_object(
            'step', 1, 'revision', 0, 'pass_no', 1, 'ending', 'done',
            'published', jsonb_build_object('delivery', CAST(:sha256 AS text))), 1),
        (:task_id, :run_id, 'DeliveryJudged', jsonb_build_object(
            'step', 1, 'revision', 0, 'pass_no', 1, 'delivery', CAST(:sha256 AS text)), 1),
        (:task_id, :run_id, 'CheckpointFinished', '{"number": 1}', 1)
""")


def make_session(
    connection: Connection, deliveries: int = 3, accepted: int = 1, target: str = "app"
) -> int:
    """A session with so many steps, each with a delivery; the first ones are accepted.

    The first one is on the remote, too. Returns the number of its task.
    """
    goal = Subtask(
        *(1, "it", "it", "mend it"), kind=SubtaskKind.AGENT, agent=AgentWork(runner="claude-code")
    )
    steps = tuple(
        Step(
            n,
            f"L-{n:06d}" if n % 2 else f"step-{n}",
            f"step {n}",
            "",
            Author(PlanningRole.HUMAN, "human"),
            subtasks=(goal,),
        )
        for n in range(1, deliveries + 1)
    )
    policy, plan = to_json(Policy(deliver=True)), to_json(Plan(steps, "mend"))
    values: dict[str, object] = {"number": deliveries, "accepted": accepted, "target": target}
    values |= {"goal": "make it work", "policy": json.dumps(policy), "plan": json.dumps(plan)}
    connection.execute(_REPOSITORY, {"name": target})
    task_id = values["task_id"] = connection.execute(_TASK, values).scalar_one()
    run_id = values["run_id"] = connection.execute(_RUN, values).scalar_one()
    values["ref"] = f"refs/heads/session/T{task_id}"
    for statement in (_STEPS, _ATTEMPTS, _DELIVERIES, _CHECK_RUNS, _CHECKPOINT, _WORKTREE):
        connection.execute(statement, values)
    first = text("SELECT sha256 FROM deliveries WHERE run_id = :run_id ORDER BY id LIMIT 1")
    sha256 = connection.execute(first, {"run_id": run_id}).scalar_one()
    connection.execute(_EVENTS, values | {"sha256": sha256})
    return int(task_id)
