"""What people ask for: tasks, and facts about tasks, put where the coordinator finds them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.facts import TaskSubmitted
from shared.domain.host import LOCALHOST
from shared.domain.plan import Plan, check_steps
from shared.store import inbox
from shared.store.database import Database
from shared.store.tables import HostRow, RunRow, TaskRow
from shared.wire import to_json


@dataclass(frozen=True, slots=True)
class Submission:
    """A task as a person asks for it; `plan` when it was planned by hand.

    Two submissions with the same `key` are one task.
    """

    prompt: str
    targets: tuple[str, ...]
    policy: Policy
    plan: Plan | None = None
    key: str | None = None


def submit(database: Database, submission: Submission) -> int:
    """Put the task in and return its number; nothing is written unless everything is right.

    Raises Rejected for an empty prompt, no target, an unknown host or a plan that cannot be
    carried out.
    """
    _check(submission)
    with database.begin() as connection:
        _check_hosts(connection, submission.targets)
        task_id, fresh = _insert_task(connection, submission)
        if fresh:
            run_ids = tuple(
                connection.execute(
                    insert(RunRow).returning(RunRow.id, sort_by_parameter_order=True),
                    [
                        {"task_id": task_id, "target": target, "phase": "not_started"}
                        for target in submission.targets
                    ],
                ).scalars()
            )
            submitted = TaskSubmitted(submission.policy, run_ids, submission.plan)
            inbox.send(connection, [(task_id, None, submitted)])
    return task_id


def _check(submission: Submission) -> None:
    if not submission.prompt.strip():
        raise Rejected(
            "the prompt is empty: say in words what is to be achieved",
            stage="input",
            next_step_cmd='replan task submit "install nginx and start it at boot" --host web1',
        )
    if not submission.targets:
        raise Rejected(
            "no target is named",
            stage="input",
            next_step_cmd="replan host list",
        )
    if len(set(submission.targets)) < len(submission.targets):
        raise Rejected("a target is named twice", stage="input")
    if submission.plan is not None:
        check_steps(submission.plan.steps)


def _check_hosts(connection: Connection, targets: Sequence[str]) -> None:
    known = set(connection.execute(select(HostRow.name)).scalars()) | {LOCALHOST.name}
    for target in targets:
        if target not in known:
            raise Rejected(
                f"host {target!r} is not enrolled; enrolled are {', '.join(sorted(known))}",
                stage="input",
                next_step_cmd=f"replan host add {target} --address ADDRESS --user USER --key FILE",
            )


def _insert_task(connection: Connection, submission: Submission) -> tuple[int, bool]:
    inserted = connection.execute(
        upsert(TaskRow)
        .values(
            prompt=submission.prompt,
            phase="submitted",
            policy=to_json(submission.policy),
            plan_given=submission.plan is not None,
            idempotency_key=submission.key,
        )
        .on_conflict_do_nothing(index_elements=["idempotency_key"])
        .returning(TaskRow.id)
    ).scalar_one_or_none()
    if inserted is not None:
        return inserted, True
    earlier = select(TaskRow.id).where(TaskRow.idempotency_key == submission.key)
    return connection.execute(earlier).scalar_one(), False
