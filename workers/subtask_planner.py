"""The subtask planner: the commands of a step (S0.20, S0.28), and their revisions (S0.54)."""

from shared.domain.errors import Defect, Rejected
from shared.domain.facts import Fact, StepDetailed, StepRevised
from shared.domain.jobs import Job
from shared.domain.plan import Author, Role, Subtask, check_subtasks
from shared.domain.question import Reply
from shared.store import bundles
from shared.store.database import Database
from workers.backends import Backends
from workers.leases import Hold
from workers.ports import DetailRequest, ReviseRequest
from workers.store import StepBrief, step_brief, task_brief


class SubtaskPlanner:
    """Answers detailing jobs."""

    def __init__(self, database: Database, backends: Backends) -> None:
        self._database = database
        self._backends = backends

    def perform(self, hold: Hold) -> Fact:
        """Revision 0 of a step."""
        with self._database.begin() as connection:
            task = task_brief(connection, hold.job.task_id)
        if task.plan is None or hold.job.step is None:
            raise Defect(f"job {hold.job.id} names no step of a plan", stage="detail")
        step = task.plan.step(hold.job.step)
        name = task.policy.subtask_planner
        subtasks = self._backends.named(name).detail(
            DetailRequest(task.wanted, task.targets, task.policy, task.plan, step, task.replies)
        )
        check_subtasks(subtasks, where=f"step {step.ordinal}")
        return StepDetailed(step.ordinal, subtasks, Author(Role.SUBTASK_PLANNER, name))


class Reviser:
    """Answers revision jobs, for the role and the backend that planned the step (S0.47)."""

    def __init__(self, database: Database, backends: Backends) -> None:
        self._database = database
        self._backends = backends

    def perform(self, hold: Hold) -> Fact:
        """The next list of subtasks. A list that has failed before is refused."""
        job = hold.job
        with self._database.begin() as connection:
            brief = step_brief(connection, job)
            stored = bundles.newest(connection, brief.run_id, brief.step.ordinal)
        if stored is None:
            raise Defect(f"job {job.id} has no bundle to revise from", stage="revise")
        backend = self._backends.named(brief.author.backend)
        draft = backend.revise(
            ReviseRequest(
                stored.bundle, brief.task.policy, brief.step, brief.subtasks, _note(brief, job)
            )
        )
        check_subtasks(draft.subtasks, where=f"step {brief.step.ordinal}")
        _refuse_repetition(brief, draft.subtasks)
        return StepRevised(
            step=brief.step.ordinal,
            revision=job.revision + 1,
            author=brief.author,
            subtasks=draft.subtasks,
            reason=draft.reason,
        )


def _note(brief: StepBrief, job: Job) -> str:
    """What people said: when the step was planned, and of this revision."""
    step = brief.step
    answered = "" if step.answer is None else str(Reply(step.ask_question, step.answer))
    return "\n".join(part for part in (answered, job.note) if part)


def _refuse_repetition(brief: StepBrief, subtasks: tuple[Subtask, ...]) -> None:
    proposed = _essence(subtasks)
    place = f"T{brief.task.id}.{brief.step.ordinal}@{brief.host.name}"
    for revision in brief.revisions:
        if _essence(revision.subtasks) == proposed:
            raise Rejected(
                f"the planner proposed revision {revision.revision} of step "
                f"{brief.step.ordinal} again, which has failed",
                stage="revise",
                next_step_cmd=f"replan step revise {place} --file FILE",
            )


def _essence(subtasks: tuple[Subtask, ...]) -> list[tuple[str, str | None, tuple[str, ...]]]:
    return [(subtask.command, subtask.check, subtask.preconditions) for subtask in subtasks]
