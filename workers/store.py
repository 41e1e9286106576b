"""Reads the rows of a job: everything a worker needs besides the id in its message."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, select, text

from shared.domain.attempt import Attempt
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.errors import Defect, Misconfigured
from shared.domain.host import Host
from shared.domain.ids import AttemptPlace, Ref
from shared.domain.jobs import Job
from shared.domain.next_step import Blank, NextStep
from shared.domain.plan import Draft, DroppedCheck, Plan, Revision, Step, Subtask
from shared.domain.question import PassReply, Reply
from shared.domain.target import Repository
from shared.domain.task import StepPhase
from shared.domain.work_before import say_beside, work_before
from shared.store import attempts, bundles, hosts, planned, targets
from shared.store.bundles import StoredBundle
from shared.store.database import Database
from shared.store.tables import RevisionRow, RunRow, RunStepRow, TaskRow
from shared.wire import from_json
from workers.findings import done_steps, replies_in_step, replies_of
from workers.planning import DoneStep

_OPEN_ATTEMPT = text(f"""
    SELECT task_id, set_config('synchronous_commit', 'off', TRUE) FROM runs
    WHERE id = :run_id AND CASE
        WHEN EXISTS (SELECT FROM attempts WHERE key = :key) THEN
            EXISTS (SELECT FROM attempts WHERE key = :key AND outcome = '{attempts.RUNNING}')
        ELSE EXISTS (
            SELECT FROM jobs
            WHERE run_id = :run_id AND step = :step AND pass_no = :pass_no AND state = 'open'
              AND kind IN ('execute', 'review') AND lease_until > clock_timestamp()
        )
    END
""")  # noqa: S608 - nothing but constants


@dataclass(frozen=True, slots=True)
class TaskBrief:
    """A task as its planners see it; `plan_given` is true if a person planned it."""

    id: int
    prompt: str
    improved_prompt: str | None
    policy: Policy
    plan: Plan | None
    targets: tuple[str, ...]
    replies: tuple[Reply, ...] = ()
    plan_given: bool = False

    @property
    def effective_prompt(self) -> str:
        """The improved prompt if there is one, otherwise the original (S0.25)."""
        return self.improved_prompt or self.prompt


@dataclass(frozen=True, slots=True)
class StepBrief:
    """A step in a run: its latest plan, who planned it, and what was tried.

    `plan` is the plan of the run; `phases` gives the state of each of its steps, by number; `done`
    are the finished steps, and `replies` what people have answered so far. `host` is where the step
    happens; `target` is the name of its run's target. In a `repository`, the step works in the
    workspace that `token`, the name of the run on hosts, leads to.
    """

    task: TaskBrief
    run_id: int
    target: str
    host: Host
    step: Step
    author: Author
    revisions: tuple[Revision, ...]
    attempts: tuple[Attempt, ...]
    reason: str
    plan: Plan
    phases: Mapping[int, str]
    done: tuple[DoneStep, ...] = ()
    replies: tuple[Reply, ...] = ()
    repository: Repository | None = None
    token: str = ""

    @property
    def place(self) -> str:
        """The name of where the step happens: of its repository, or of the target of its run."""
        return targets.name_for(self.step, self.target)

    @property
    def ref(self) -> Ref:
        """The step in its run, as people name it."""
        return Ref(self.task.id, self.step.ordinal, target=self.target)

    @property
    def subtasks(self) -> tuple[Subtask, ...]:
        """The subtasks of the newest revision."""
        return self.revisions[-1].subtasks


@dataclass(frozen=True, slots=True)
class PassBrief:
    """What a pass needs to know: the host, the step, its subtasks and the earlier attempts.

    In a `repository`, the step goes on with the work of the step `after`, None for a first one.
    `revisions` holds all lists up to the current one if the current one undoes something first,
    and is empty otherwise. `replies` are people's answers to the questions of the step's passes,
    `began_red` what `attempts.began_red` says of the driver before, if there was one.
    """

    policy: Policy
    token: str
    host: Host
    step: Step
    subtasks: tuple[Subtask, ...]
    attempts: tuple[Attempt, ...]
    began_red: frozenset[str] = frozenset()
    revisions: tuple[Revision, ...] = ()
    repository: Repository | None = None
    after: int | None = None
    replies: tuple[PassReply, ...] = ()


_PASS = text("""
    SELECT tasks.policy, runs.token, runs.target,
        (SELECT body FROM planned_steps WHERE run_id = :run_id AND step = :step) AS step,
        (SELECT subtasks FROM revisions
         WHERE run_id = runs.id AND step = :step AND revision <= :revision
         ORDER BY revision DESC LIMIT 1) AS revised,
        EXISTS (SELECT 1 FROM revisions
                WHERE run_id = runs.id AND step = :step AND revision = :revision
                  AND rollback <> '[]') AS undoes,
        hosts.*
    FROM runs JOIN tasks ON tasks.id = runs.task_id LEFT JOIN hosts ON hosts.name = runs.target
    WHERE runs.id = :run_id
""")


_EVERY_SUBTASK = text("""
    SELECT jsonb_array_elements(body -> 'subtasks') AS subtask
    FROM planned_steps WHERE run_id = :run_id
    UNION ALL
    SELECT jsonb_array_elements(subtasks) FROM revisions WHERE run_id = :run_id
""")


_AT_WORK = text("""
    SELECT EXISTS (
        SELECT 1 FROM jobs
        WHERE run_id = :run_id AND step = :step AND kind IN ('execute', 'clean_up')
        AND state IN ('open', 'cancelled') AND lease_until > clock_timestamp()
    )
""")


_LEFT = text("""
    SELECT array_agg(key) AS running, extract(epoch FROM clock_timestamp() - (
        SELECT min(created_at) FROM jobs
        WHERE run_id = :run_id AND step = :step AND pass_no = :pass_no AND kind = 'execute'
    ))::float8 AS age
    FROM attempts WHERE run_id = :run_id AND step = :step AND pass_no = :pass_no
        AND outcome = 'running' AND NOT look
""")


@dataclass(frozen=True, slots=True)
class LeftRunning:
    """The keys of the attempts of a pass that still run; `age` is that of the pass in seconds."""

    keys: frozenset[str]
    age: float


def left_running(connection: Connection, job: Job) -> LeftRunning:
    """What the pass of a clean-up has left running."""
    place = {"run_id": job.run_id, "step": job.step, "pass_no": job.pass_no}
    row = connection.execute(_LEFT, place).one()
    return LeftRunning(frozenset(row.running or ()), job.age if row.age is None else row.age)


def pass_brief(connection: Connection, job: Job) -> PassBrief:
    """The pass of a job; raises Misconfigured if its host is not enrolled or is disabled."""
    if job.step is None or job.run_id is None:
        raise _no_step(job)
    asked = {"run_id": job.run_id, "step": job.step, "revision": job.revision}
    row = connection.execute(_PASS, asked).one()
    if row.step is None:
        raise _no_step(job)
    step = from_json(Step, row.step)
    subtasks = step.subtasks
    if row.revised is not None:
        subtasks = tuple(from_json(Subtask, subtask) for subtask in row.revised)
    host, repository = _place(connection, step, row)
    first, policy = job.pass_no == 1 and not job.resumed, from_json(Policy, row.policy)
    alone = repository is None or policy.deliver  # a session's step goes on from its head
    return PassBrief(
        policy=policy,
        token=row.token,
        host=host,
        repository=repository,
        after=None if alone else _before(connection, job.run_id, step, row),
        step=step,
        subtasks=subtasks,
        attempts=() if first else attempts.of_step(connection, job.run_id, job.step),
        began_red=(
            attempts.began_red(connection, job.run_id, job.step) if job.resumed else frozenset()
        ),
        revisions=_revisions(connection, job.run_id, step, job.revision) if row.undoes else (),
        replies=() if first else replies_in_step(connection, job.task_id, job.run_id, job.step),
    )


def _place(connection: Connection, step: Step, row: Any) -> tuple[Host, Repository | None]:
    """The host of a step, and the repository in which it happens."""
    name = targets.name_for(step, row.target)
    if step.repository is None and (host := hosts.from_row(row, row.target)) is not None:
        return _usable_host(connection, host, name), None
    place = targets.find(connection, name)
    if place is None:
        return _usable_host(connection, None, name), None
    return _usable_host(connection, place.host, name), place.repository


def _before(connection: Connection, run_id: int, step: Step, row: Any) -> int | None:
    before = work_before(planned.steps_of(connection, run_id), row.target).get(step.ordinal, ())
    if len(before) > 1:
        place = targets.name_for(step, row.target)
        why = say_beside(str(step.ordinal), map(str, before), place)
        raise Misconfigured(why, stage="execute")
    return before[0] if before else None


def subtasks_of_run(connection: Connection, run_id: int) -> tuple[Subtask, ...]:
    """Every subtask that was ever planned for a run, in any step and any revision."""
    found = connection.execute(_EVERY_SUBTASK, {"run_id": run_id})
    return tuple(from_json(Subtask, row.subtask) for row in found)


def task_brief(connection: Connection, task_id: int) -> TaskBrief:
    """The task of a job."""
    row = connection.execute(
        select(
            TaskRow.prompt,
            TaskRow.improved_prompt,
            TaskRow.policy,
            TaskRow.plan,
            TaskRow.replies,
            TaskRow.plan_given,
        ).where(TaskRow.id == task_id)
    ).one()
    targets = connection.execute(
        select(RunRow.target).where(RunRow.task_id == task_id).order_by(RunRow.id)
    ).scalars()
    return TaskBrief(
        id=task_id,
        prompt=row.prompt,
        improved_prompt=row.improved_prompt,
        policy=from_json(Policy, row.policy),
        plan=None if row.plan is None else from_json(Plan, row.plan),
        targets=tuple(targets),
        replies=tuple(from_json(Reply, reply) for reply in row.replies),
        plan_given=row.plan_given,
    )


def step_brief(connection: Connection, job: Job) -> StepBrief:
    """The step of a job; raises Misconfigured if its host is not enrolled or is disabled."""
    task = task_brief(connection, job.task_id)
    if task.plan is None or job.step is None or job.run_id is None:
        raise _no_step(job)
    row = connection.execute(
        select(
            RunRow.target,
            RunRow.token,
            RunStepRow.author_role,
            RunStepRow.author_backend,
            RunStepRow.reason,
        )
        .join(RunStepRow, RunStepRow.run_id == RunRow.id)
        .where(RunRow.id == job.run_id, RunStepRow.step == job.step)
    ).one()
    plan = replace(task.plan, steps=planned.steps_of(connection, job.run_id))
    step = plan.step(job.step)
    phases = _phases(connection, job.run_id)
    finished = [each for each in plan.steps if phases.get(each.ordinal) == StepPhase.DONE]
    name = targets.name_for(step, row.target)
    place = targets.find(connection, name)
    return StepBrief(
        task=task,
        run_id=job.run_id,
        target=row.target,
        host=_usable_host(connection, None if place is None else place.host, name),
        repository=None if place is None else place.repository,
        token=row.token,
        step=step,
        author=Author(PlanningRole(row.author_role), row.author_backend),
        revisions=_revisions(connection, job.run_id, step, job.revision),
        attempts=attempts.of_step(connection, job.run_id, job.step),
        reason=row.reason,
        plan=plan,
        phases=phases,
        done=done_steps(connection, job.run_id, finished),
        replies=replies_of(connection, job.task_id, job.run_id),
    )


def step_with_evidence(database: Database, job: Job) -> tuple[StepBrief, StoredBundle]:
    """The step of a job and its newest bundle, from which the job is answered.

    Raises what `step_brief` raises, and Defect if there is no bundle.
    """
    with database.begin() as connection:
        brief = step_brief(connection, job)
        stored = bundles.newest(connection, brief.run_id, brief.step.ordinal)
    if stored is None:
        raise Defect(f"job {job.id} has no bundle to answer from", stage=job.kind.value)
    return brief, stored


def _phases(connection: Connection, run_id: int) -> dict[int, str]:
    query = select(RunStepRow.step, RunStepRow.phase).where(RunStepRow.run_id == run_id)
    return {row.step: row.phase for row in connection.execute(query.order_by(RunStepRow.step))}


def draft_of(connection: Connection, job: Job) -> Draft:
    """The changed plan that a job must detail; raises Defect if it no longer exists."""
    query = select(RunStepRow.draft).where(
        RunStepRow.run_id == job.run_id, RunStepRow.step == job.step
    )
    draft = connection.execute(query).scalar()
    if draft is None:
        raise Defect(f"job {job.id} has no changed plan to detail", stage="detail")
    return from_json(Draft, draft)


def is_at_work(connection: Connection, job: Job) -> bool:
    """Whether a worker still holds a pass of the job's step, if only to end it."""
    found = connection.execute(_AT_WORK, {"run_id": job.run_id, "step": job.step})
    return bool(found.scalar_one())


def _revisions(
    connection: Connection, run_id: int, step: Step, newest: int
) -> tuple[Revision, ...]:
    first = Revision(step.ordinal, 0, step.author, step.subtasks)
    found = connection.execute(
        select(RevisionRow.__table__)
        .where(
            RevisionRow.run_id == run_id,
            RevisionRow.step == step.ordinal,
            RevisionRow.revision <= newest,
        )
        .order_by(RevisionRow.revision)
    )
    later = (
        Revision(
            step=row.step,
            revision=row.revision,
            author=Author(PlanningRole(row.author_role), row.author_backend),
            subtasks=tuple(from_json(Subtask, subtask) for subtask in row.subtasks),
            reason=row.reason,
            rollback=tuple(row.rollback),
            dropped_checks=tuple(from_json(DroppedCheck, each) for each in row.dropped_checks),
        )
        for row in found
    )
    return (first, *later)


def _usable_host(connection: Connection, host: Host | None, name: str) -> Host:
    if host is None:
        raise Misconfigured(
            f"host {name!r} is not enrolled",
            stage="connect",
            next_step=NextStep.of("host add", name, address=Blank("ADDRESS")),
        )
    hosts.require_trusted(host)
    return hosts.with_route(connection, host)


def _no_step(job: Job) -> Defect:
    return Defect(f"job {job.id} names no step of a planned run", stage=job.kind.value)


def task_of_open_attempt(connection: Connection, place: AttemptPlace) -> int | None:
    """The number of the task of an attempt that is open; None if it has ended or never was.

    A command may start before its attempt is in the database: such an attempt is open while a
    worker holds its pass. What the same transaction writes, others see at once, but nobody waits
    until it is on the disk: the first byte of an answer would wait, too.
    """
    asked = {"key": place.key, "run_id": place.run, "step": place.step, "pass_no": place.pass_no}
    return connection.execute(_OPEN_ATTEMPT, asked).scalar_one_or_none()
