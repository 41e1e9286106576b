"""Submitting tasks: they are written where the coordinator finds them."""

import hashlib
import time
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, text

from orchestrator.access import audit
from orchestrator.access.actor import Actor, account
from orchestrator.access.audit import Act
from orchestrator.acts.agents import named_repositories, require_rows, settle_agents
from orchestrator.acts.caller import Caller
from orchestrator.acts.typed_secrets import typed_text
from orchestrator.views import built_plans
from orchestrator.views.built_plans import Choice
from shared.domain.config import AT_ONCE, IN_TURN, PLAN, Policy
from shared.domain.errors import Rejected, Transient
from shared.domain.facts import TaskSubmitted
from shared.domain.host import LOCALHOST
from shared.domain.next_step import Blank, NextStep
from shared.domain.plan import Plan, check_steps
from shared.domain.secret import named_anywhere
from shared.fact_wire import encode_fact
from shared.secrets.sent import check_plan_secrets
from shared.store import hosts, repositories, targets
from shared.store.database import REPORTS, Database, InDoubt
from shared.store.storable_json import storable_json
from shared.wire import to_json

_HOSTS = text("SELECT name FROM hosts")
_TRUSTED = "(SELECT name FROM hosts WHERE distrusted IS NULL UNION ALL SELECT :here)"
_USABLE = f"SELECT FROM repositories WHERE host IN {_TRUSTED} AND repositories.name ="
_EARLIER = text("SELECT id FROM tasks WHERE idempotency_key = :key")
# One statement for everything: each further one would cost another round trip.
_INSERT = text(f"""
    WITH targets AS (
        SELECT name, place
        FROM unnest(CAST(:targets AS text[])) WITH ORDINALITY AS t(name, place)
    ), unknown AS (
        SELECT name, place FROM targets
        WHERE name NOT IN {_TRUSTED} AND NOT EXISTS ({_USABLE} targets.name)
    ), nowhere AS (
        SELECT name FROM unnest(CAST(:repositories AS text[])) AS named(name)
        WHERE NOT EXISTS ({_USABLE} named.name)
    ), task AS (
        INSERT INTO tasks (prompt, phase, policy, plan_given, idempotency_key)
        SELECT :prompt, 'submitted', CAST(:policy AS jsonb), :planned, :key
        WHERE NOT EXISTS (SELECT FROM unknown) AND NOT EXISTS (SELECT FROM nowhere)
            AND EXISTS (SELECT FROM audit_head)
        ON CONFLICT (idempotency_key) DO NOTHING RETURNING id
    ), made AS (
        INSERT INTO runs (task_id, target, phase)
        SELECT task.id, targets.name, 'not_started' FROM task, targets ORDER BY targets.place
        RETURNING id
    ), built AS (
        INSERT INTO built_plans (run_id, source, selector, assigns)
        SELECT id, :source, CAST(:selector AS jsonb), CAST(:assigns AS jsonb) FROM made
        WHERE CAST(:source AS text) IS NOT NULL
    ), granted AS (
        INSERT INTO secret_grants (task_id, name, step, given_by)
        SELECT task.id, given.name, given.step, :given_by
        FROM task, unnest(CAST(:secrets AS text[]), CAST(:of_steps AS integer[]))
            AS given(name, step)
    ), sent AS (
        INSERT INTO inbox (task_id, kind, body)
        SELECT task.id, :kind, CAST(:body AS jsonb) || jsonb_build_object(
            'run_ids', (SELECT coalesce(jsonb_agg(id ORDER BY id), '[]') FROM made)
        )
        FROM task
    ), act AS (
        SELECT clock_timestamp() AS at, 'T' || task.id AS ref FROM task
    ), {audit.CHAINED}
    SELECT (SELECT id FROM task) AS task_id,
        (SELECT count(*) FROM audit_head) AS recorded,
        ARRAY(SELECT name FROM unknown ORDER BY place) AS unknown,
        ARRAY(SELECT name FROM nowhere ORDER BY name) AS nowhere,
        pg_notify(:channel, '')
""")  # noqa: S608 - constants

_PAUSES = (0.1, 0.4, 1.0, 2.0, 4.0)
"""Seconds between two attempts to learn the outcome of a submission."""

_PATIENCE = 8.0
"""Seconds after which no further attempt begins: one on a silent database takes long by itself."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A task as a person submits it; `plan` when a person planned it.

    Two submissions with the same `key` are one task. Agents of the plan need checks unless
    `needs_checks` is false: a file of tasks has none (S4.59). `choice` is what the plan was built
    from, if a person chose it from a backlog. The audit has it under `verb`. The task may use the
    `secrets`, those that the prompt names, and each step of a plan those that it names itself.
    """

    prompt: str
    targets: tuple[str, ...]
    policy: Policy
    plan: Plan | None = None
    key: str | None = None
    needs_checks: bool = True
    choice: Choice | None = None
    verb: str = "task.submit"
    secrets: tuple[str, ...] = ()


def submit(database: Database, submission: Submission, actor: Actor | None = None) -> int:
    """Write the task and return its number; nothing is written unless everything is valid.

    The audit names the actor, by default the account of this process. The task is written once,
    even when the answer to the commit is lost: it is then submitted again under the same key.
    Raises Rejected for an empty prompt, no target, an unknown host or repository, or a plan that
    cannot be carried out; Misconfigured for a host that was disabled; InDoubt when the database
    stays unreachable and nobody knows whether the task exists.
    """
    return submit_settled(database, settle_plan(database, submission), actor)


def submit_typed(caller: Caller, settled: Submission) -> int:
    """Write what a caller has typed, masked (`typed_secrets`); see `submit`.

    The caller is told of what was found. Raises Rejected for a command or a setting with the value
    of a known secret.
    """
    typed = typed_text(caller)
    typed.refuse_values(settled.policy)
    masked = typed.masked(settled)
    caller.remarks.extend(typed.notes)
    return submit_settled(caller.database, masked, caller.actor)


def submit_settled(database: Database, settled: Submission, actor: Actor | None = None) -> int:
    """Write a task whose plan is settled (`settle_plan`); see `submit`."""
    keyed = replace(settled, key=settled.key or f"once-{uuid4().hex}")
    try:
        return _put_in(database, keyed, actor or account())
    except InDoubt as doubt:
        return _put_in_again(database, keyed, actor or account(), doubt)


def settle_plan(database: Database, submission: Submission) -> Submission:
    """The submission, its plan with the checks of the repositories in which agents work.

    Nothing is written. Raises Rejected, as `submit` does, for a plan that cannot be carried out.
    """
    _check(submission)
    _require_repositories(database, submission)
    plan, on = submission.plan, submission.targets
    if plan is None:
        return submission
    needs = submission.needs_checks
    settled = replace(plan, steps=settle_agents(database, plan.steps, on, needs_check=needs))
    if not submission.policy.deliver:  # a step of a session begins with what all before it brought
        require_rows(database, settled.steps, on)
    return replace(submission, plan=settled)


def _put_in_again(database: Database, submission: Submission, actor: Actor, doubt: InDoubt) -> int:
    until = time.monotonic() + _PATIENCE
    for pause in _PAUSES:
        time.sleep(pause)
        if time.monotonic() > until:
            break
        try:
            return _put_in(database, submission, actor)
        except Transient:
            continue
    raise InDoubt(
        f"the task may have been submitted, or not: {doubt.reason}",
        stage="database",
        next_step=NextStep.of("task list"),
    ) from doubt


def _put_in(database: Database, submission: Submission, actor: Actor) -> int:
    with database.at_once() as connection:
        made = connection.execute(_INSERT, _values(submission, actor)).one()
    audit.require_recorded(made.recorded)
    if made.task_id is not None:
        return int(made.task_id)
    with database.autocommit() as connection:
        if made.unknown:
            raise _refusal_of(connection, made.unknown[0])
        if made.nowhere:
            raise targets.refusal_of_repository(connection, made.nowhere[0])
        return int(connection.execute(_EARLIER, {"key": submission.key}).scalar_one())


def _check(submission: Submission) -> None:
    if not submission.prompt.strip():
        raise Rejected(
            "the prompt is empty: say what you want to achieve",
            stage="input",
            next_step=NextStep.of(
                "task submit", Blank("install nginx and start it at boot", text=True), local=True
            ),
        )
    if not submission.targets:
        raise Rejected(
            "no target is named",
            stage="input",
            next_step=NextStep.of("task submit", submission.prompt, local=True)
            if submission.plan is None
            else NextStep.of("task submit", plan=Blank("FILE"), local=True),
        )
    if len(set(submission.targets)) < len(submission.targets):
        raise Rejected("a target is named twice", stage="input")
    if submission.policy.autonomy == PLAN and submission.policy.detail_steps == IN_TURN:
        raise Rejected(
            "autonomy plan lets a person approve every command before the first one runs, but "
            "detail_steps in_turn plans commands only when their turn comes: choose one of them",
            stage="input",
            next_step=NextStep.of(
                "task submit",
                Blank("PROMPT", text=True),
                autonomy=PLAN,
                set=f"detail_steps={AT_ONCE}",
            ),
        )
    if submission.plan is not None:
        check_steps(submission.plan.steps)
        check_plan_secrets(submission.plan)


def _require_repositories(database: Database, submission: Submission) -> None:
    """Raise Rejected where work is to be delivered on a target that is not a repository."""
    if not submission.policy.deliver:
        return
    with database.autocommit() as connection:
        known = {each.name for each in repositories.all_repositories(connection)}
    for target in submission.targets:
        if target not in known:
            raise Rejected(
                f"{target!r} is not a repository, and only work in repositories can be delivered",
                stage="input",
                next_step=NextStep.of("repo list"),
            )


def _values(submission: Submission, actor: Actor) -> dict[str, Any]:
    # Its runs get their numbers only in the statement.
    kind, body = encode_fact(TaskSubmitted(submission.policy, (), submission.plan))
    return audit.values(actor, Act(submission.verb, "", _audit_details(submission))) | {
        "targets": list(submission.targets),
        "repositories": list(named_repositories(submission.plan)),
        "here": LOCALHOST.name,
        "prompt": submission.prompt,
        "policy": storable_json(body["policy"]),
        "kind": kind,
        "body": storable_json(body),
        "channel": REPORTS,
        "planned": submission.plan is not None,
        "key": submission.key,
        **built_plans.values(submission.choice),
        **_grants(submission, actor),
    }


def _grants(submission: Submission, actor: Actor) -> dict[str, Any]:
    """The secrets that the person has named: in the prompt, by option, and in steps of a plan."""
    names = {(name, None) for name in (*submission.secrets, *named_anywhere(submission.prompt))}
    steps = () if submission.plan is None else submission.plan.steps
    found: list[tuple[str, int | None]] = sorted(names)
    for step in steps:
        found += [(name, step.ordinal) for name in sorted(named_anywhere(str(to_json(step))))]
    return {
        "secrets": [name for name, _ in found],
        "of_steps": [step for _, step in found],
        "given_by": actor.name,
    }


def _audit_details(submission: Submission) -> dict[str, Any]:
    """What the audit stores: only the hash of the prompt, which may contain anything."""
    return {
        "targets": list(submission.targets),
        "plan_given": submission.plan is not None,
        "prompt_sha256": hashlib.sha256(submission.prompt.encode()).hexdigest(),
    }


def _refusal_of(connection: Connection, target: str) -> Rejected:
    known = {*connection.execute(_HOSTS).scalars(), LOCALHOST.name}
    if target in known:
        hosts.require_trusted(hosts.get(connection, target))
    places = [each.name for each in repositories.all_repositories(connection)]
    if target in places:
        return targets.refusal_of_repository(connection, target)
    inside = f"; and these repositories: {', '.join(places)}" if places else ""
    return Rejected(
        f"host {target!r} is not enrolled; these are: {', '.join(sorted(known))}{inside}",
        stage="input",
        next_step=NextStep.of(
            "host add", target, address=Blank("ADDRESS"), user=Blank("USER"), key=Blank("FILE")
        ),
    )
