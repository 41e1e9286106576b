"""Repairing a workspace: what is wrong with it, and what cures it (S2.49-S2.51, S2.61)."""

from collections.abc import Collection
from dataclasses import dataclass

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.post import post
from orchestrator.acts.verbs import act
from orchestrator.probes.repairs import WorktreeCall, attend_worktree
from orchestrator.views import named_runs
from orchestrator.views.places import one_run, require_step
from orchestrator.views.stuck_worktrees import (
    WorktreeCure,
    WorktreeFinding,
    WorktreePlace,
    diagnose_worktree,
    newest_workspace,
    worktree_place,
)
from shared.domain.checkpoint import CheckpointReport
from shared.domain.errors import Rejected
from shared.domain.facts import CheckpointRequested
from shared.domain.found_on_host import WorkspaceOnHost
from shared.domain.ids import parse_ref
from shared.domain.next_step import NextStep
from shared.domain.workspace_name import WorkspaceName
from shared.store import targets


@dataclass(frozen=True, slots=True)
class WorktreeRepair:
    """What is wrong with a workspace, and whether the cures were `applied`.

    `host` and `path` are where it is, None if there is none. Where the branches have diverged,
    `report` has both sides, and `remote` and `branch` name the other one.
    """

    worktree: WorktreePlace
    host: str
    path: str | None
    findings: tuple[WorktreeFinding, ...]
    applied: bool
    report: CheckpointReport | None = None
    remote: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class _Examined:
    """A workspace, what its host says, and how that is asked."""

    worktree: WorktreePlace
    call: WorktreeCall
    found: WorkspaceOnHost

    @property
    def findings(self) -> tuple[WorktreeFinding, ...]:
        return diagnose_worktree(self.worktree, self.found)

    def report(self, *, applied: bool) -> WorktreeRepair:
        remote, repository = self.found.remote, self.call.repository
        return WorktreeRepair(
            self.worktree,
            self.call.host.name,
            self.found.path,
            self.findings,
            applied=applied,
            report=None
            if remote is None
            else CheckpointReport(found=remote, git_dir=self.found.git_dir),
            remote=repository.remote or repository.source,
            branch=self.call.branch or "",
        )


def examine_worktree(caller: Caller, name: str, repository: str | None = None) -> WorktreeRepair:
    """What is wrong with a workspace; nothing is changed. Raises what `repair_worktree` raises."""
    caller.may("repair.worktree")
    return _examine(caller, name, repository).report(applied=False)


@act("repair.worktree")
def repair_worktree(
    caller: Caller, name: str, repository: str | None = None
) -> Done[WorktreeRepair]:
    """Cure what is wrong with a workspace; nothing goes that is not kept.

    `name` is that of the workspace, or a reference: to a step, or to a session for its main one.
    Raises Rejected for a name that is not one, and what asking its host raises.
    """
    examined = _examine(caller, name, repository)
    cures = [each.cure for each in examined.findings if not each.barred]
    todo = [cure for cure in cures if cure is not WorktreeCure.PERSON]
    if not todo:
        return Done(examined.report(applied=False))
    entry = Act(
        "repair.worktree",
        str(examined.worktree.ref or examined.worktree.name),
        {"worktree": examined.worktree.name, "cures": [cure.value for cure in todo]},
    )
    place, taken = examined.worktree.place, True
    if WorktreeCure.CHECKPOINT in todo and place is not None:
        fact = CheckpointRequested(caller.actor.name)
        taken = post(caller, entry, [(place.task_id, place.run_id, fact)])
        return Done(examined.report(applied=True), taken)
    with caller.database.begin() as connection:
        audit.record(connection, caller.actor, entry)
    after = attend_worktree(examined.call, _verb(todo))
    value = _Examined(examined.worktree, examined.call, after).report(applied=True)
    return Done(value)


def _verb(todo: Collection[WorktreeCure]) -> str:
    order = (WorktreeCure.REMOVE, WorktreeCure.SYNC, WorktreeCure.KEEP)
    return next(cure.value for cure in order if cure in todo)


def _examine(caller: Caller, name: str, repository: str | None) -> _Examined:
    with caller.database.reading() as connection:
        known = WorkspaceName.parse(name)
        if known is None:
            ref = parse_ref(name)
            step = None
            if ref.step is None:
                place = one_run(connection, ref)
            else:
                place, step = require_step(connection, ref)
            token = named_runs.token_of(connection, place.run_id)
            known = newest_workspace(connection, place.run_id, token, step)
        worktree = worktree_place(connection, known, repository)
        place_of = targets.reach(connection, worktree.repository)
    if place_of.repository is None:
        raise Rejected(
            f"{worktree.repository} is a host: only steps in a repository have a workspace",
            stage="input",
            next_step=NextStep.of("repo list"),
        )
    head = worktree.head if worktree.is_main else None
    branch = None if head is None else worktree.branch
    call = WorktreeCall(place_of.host, place_of.repository, str(known), head=head, branch=branch)
    return _Examined(worktree, call, attend_worktree(call, "look"))
