"""Workspaces that nobody needs or keeps, and main worktrees that are not at the head; pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, text

from orchestrator.views import named_runs
from orchestrator.views.places import RunPlace
from orchestrator.views.values import RefValue
from shared.domain.checkpoint import REMEDIES, Remedy
from shared.domain.delivery import session_branch
from shared.domain.errors import Rejected
from shared.domain.found_on_host import WorkspaceOnHost
from shared.domain.ids import Ref
from shared.domain.next_step import Blank, NextStep
from shared.domain.task import ENDED_RUN, ENDED_STEP, RunPhase, StepPhase
from shared.domain.workspace_name import WorkspaceName

_NEWEST = text("""
    SELECT name FROM worktrees WHERE run_id = :run_id AND step = :step
    ORDER BY length(name) DESC, name DESC LIMIT 1
""")
_STEP = text("""
    SELECT phase, accepted_as > 0 AS accepted, EXISTS (
        SELECT FROM jobs WHERE jobs.run_id = :run_id AND jobs.step = :step
           AND jobs.state IN ('open', 'cancelled') AND jobs.lease_until > clock_timestamp()
    ) AS at_work FROM run_steps WHERE run_id = :run_id AND step = :step
""")


class WorktreeTrouble(StrEnum):
    """What is wrong with a workspace."""

    NO_STEP = "no_step"  # no step of a run that the database knows works there
    STEP_ENDED = "step_ended"  # its step, or all of its run, has ended: nobody needs it
    UNKEPT = "unkept"  # it holds changes that are kept nowhere else
    AHEAD = "ahead"  # the session has more than the remote (S2.49)
    BEHIND = "behind"  # the remote has more than the session (S2.50)
    DIVERGED = "diverged"  # both have (S2.51)
    OUT_OF_DATE = "out_of_date"  # the main worktree is not at the commit that is published


class WorktreeCure(StrEnum):
    """What repairs it."""

    KEEP = "keep"  # what it holds is kept as a tree
    REMOVE = "remove"  # and then it is removed
    SYNC = "sync"  # it is brought to the published commit; what it holds is kept
    CHECKPOINT = "checkpoint"  # a checkpoint publishes, or adopts what is there
    PERSON = "person"  # a person decides: see the recipe


WORKTREE_CURES: Mapping[WorktreeTrouble, WorktreeCure] = {
    WorktreeTrouble.NO_STEP: WorktreeCure.REMOVE,
    WorktreeTrouble.STEP_ENDED: WorktreeCure.REMOVE,
    WorktreeTrouble.UNKEPT: WorktreeCure.KEEP,
    WorktreeTrouble.AHEAD: WorktreeCure.CHECKPOINT,
    WorktreeTrouble.BEHIND: WorktreeCure.CHECKPOINT,
    WorktreeTrouble.DIVERGED: WorktreeCure.PERSON,
    WorktreeTrouble.OUT_OF_DATE: WorktreeCure.SYNC,
}

_ON_REMOTE: Mapping[Remedy, WorktreeTrouble] = {
    Remedy.PUSH: WorktreeTrouble.AHEAD,
    Remedy.ADOPT: WorktreeTrouble.BEHIND,
    Remedy.STOP: WorktreeTrouble.DIVERGED,
}


@dataclass(frozen=True, slots=True)
class WorktreeFinding:
    """Something wrong with a workspace, and its cure; `names` are the files that it is about.

    It is `barred` while a process works there, or while it has files that cannot be kept.
    """

    trouble: WorktreeTrouble
    cure: WorktreeCure
    names: tuple[str, ...] = ()
    barred: bool = False


@dataclass(frozen=True, slots=True)
class WorktreePlace:
    """A workspace by its name, and what the database knows of its run and its step.

    `place` is None for a run that the database does not know, `ref` what people call it. `head` is
    that of a session whose main worktree it is, `branch` the one on the remote. `at_work` says that
    a worker has a job of its step. That of an `accepted` step is kept at the published commit.
    """

    name: str
    repository: str
    ref: RefValue | None = None
    place: RunPlace | None = None
    step: int | None = None
    ended: bool = False
    accepted: bool = False
    at_work: bool = False
    head: str | None = None
    branch: str | None = None

    @property
    def is_main(self) -> bool:
        """Whether it is the main worktree of a session."""
        return self.place is not None and self.step is None


def newest_workspace(
    connection: Connection, run_id: int, token: str, step: int | None
) -> WorkspaceName:
    """The workspace in which a step of the run `token` works, or has worked last."""
    row = connection.execute(_NEWEST, {"run_id": run_id, "step": step}).one_or_none()
    known = None if row is None else WorkspaceName.parse(row.name)
    return known or WorkspaceName(token, step)


def worktree_place(
    connection: Connection, known: WorkspaceName, repository: str | None
) -> WorktreePlace:
    """What the database knows about the workspace of that name.

    Raises Rejected if nobody can say in which repository it is.
    """
    name, step = str(known), known.step
    run = named_runs.named(connection, known.run)
    if run is None:
        if repository is None:
            raise Rejected(
                f"no run is known that works in {name!r}: name its repository with --project",
                stage="input",
                next_step=NextStep.of("repair worktree", name, project=Blank("NAME")),
            )
        return WorktreePlace(name, repository)
    place = RunPlace(run.task_id, run.id, run.target)
    over = RunPhase(run.phase) in ENDED_RUN
    if step is None:
        ref = Ref(run.task_id, target=run.target)
        branch = session_branch(run.task_id, run.target, run.beside)
        return WorktreePlace(name, run.target, ref, place, head=run.head, branch=branch, ended=over)
    row = connection.execute(_STEP, {"run_id": run.id, "step": step}).one_or_none()
    ref = Ref(run.task_id, step, target=run.target)
    if row is None:
        return WorktreePlace(name, repository or run.target, ref)
    ended = over or StepPhase(row.phase) in ENDED_STEP
    return WorktreePlace(
        *(name, run.target, ref, place, step),
        ended=ended,
        accepted=row.accepted,
        at_work=row.at_work,
    )


def diagnose_worktree(
    worktree: WorktreePlace, found: WorkspaceOnHost
) -> tuple[WorktreeFinding, ...]:
    """What is wrong with a workspace, and what cures it."""
    if worktree.is_main:
        return tuple(_of_main(worktree, found))
    return tuple(_of_step(worktree, found))


def _of_step(worktree: WorktreePlace, found: WorkspaceOnHost) -> Iterator[WorktreeFinding]:
    if found.path is None or worktree.at_work:
        return
    barred = found.used or bool(found.unkept)
    if worktree.place is None:
        yield _finding(WorktreeTrouble.NO_STEP, barred=barred)
    elif worktree.ended and not worktree.accepted:
        yield _finding(WorktreeTrouble.STEP_ENDED, barred=barred)
    if not found.kept:
        yield _finding(WorktreeTrouble.UNKEPT, names=found.unkept)


def _of_main(worktree: WorktreePlace, found: WorkspaceOnHost) -> Iterator[WorktreeFinding]:
    if worktree.head is None or found.remote is None:
        return
    trouble = _ON_REMOTE.get(REMEDIES[found.remote.standing])
    if trouble is not None:
        yield _finding(trouble)
        return
    changed = found.path is not None and (found.changed or not found.kept)
    if found.base != worktree.head or found.path is None:
        yield _finding(WorktreeTrouble.OUT_OF_DATE, barred=found.used or changed)
    if changed and not found.kept:
        yield _finding(WorktreeTrouble.UNKEPT, names=found.unkept)


def _finding(
    trouble: WorktreeTrouble, *, names: tuple[str, ...] = (), barred: bool = False
) -> WorktreeFinding:
    return WorktreeFinding(trouble, WORKTREE_CURES[trouble], names, barred)
