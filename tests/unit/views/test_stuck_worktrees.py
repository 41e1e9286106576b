"""What is wrong with a workspace, and what cures it (S2.49-S2.51)."""

from dataclasses import replace

import pytest

from orchestrator.views.places import RunPlace
from orchestrator.views.stuck_worktrees import (
    WORKTREE_CURES,
    WorktreeCure,
    WorktreeFinding,
    WorktreePlace,
    WorktreeTrouble,
    diagnose_worktree,
)
from orchestrator.words.stuck_worktrees import describe_worktree_cure, describe_worktree_trouble
from shared.domain.checkpoint import FoundOnRemote, Standing
from shared.domain.found_on_host import WorkspaceOnHost
from shared.domain.ids import Ref

PLACE = RunPlace(1, 1, "app")
OF_STEP = WorktreePlace("ab-1", "app", Ref(1, 1, target="app"), PLACE, 1)
MAIN = WorktreePlace("ab-main", "app", Ref(1, target="app"), PLACE, head="h")
THERE = WorkspaceOnHost("/w/app", base="h", tree="t")
EDITED = replace(THERE, kept=False, changed=True)


def standing(which: Standing, there: WorkspaceOnHost = THERE) -> WorkspaceOnHost:
    return replace(there, remote=FoundOnRemote(which))


CASES = [
    (OF_STEP, THERE, []),
    (OF_STEP, WorkspaceOnHost(None), []),
    (OF_STEP, EDITED, [(WorktreeTrouble.UNKEPT, False)]),
    (replace(OF_STEP, at_work=True), EDITED, []),
    (replace(OF_STEP, ended=True), THERE, [(WorktreeTrouble.STEP_ENDED, False)]),
    (replace(OF_STEP, ended=True, accepted=True), THERE, []),
    (
        replace(OF_STEP, ended=True),
        replace(THERE, used=True),
        [(WorktreeTrouble.STEP_ENDED, True)],
    ),
    (replace(OF_STEP, place=None), THERE, [(WorktreeTrouble.NO_STEP, False)]),
    (
        replace(OF_STEP, place=None),
        replace(EDITED, unkept=("huge.bin",)),
        [(WorktreeTrouble.NO_STEP, True), (WorktreeTrouble.UNKEPT, False)],
    ),
    (replace(MAIN, head=None), THERE, []),
    (MAIN, standing(Standing.EQUAL), []),
    (MAIN, standing(Standing.ABSENT), [(WorktreeTrouble.AHEAD, False)]),
    (MAIN, standing(Standing.AHEAD), [(WorktreeTrouble.AHEAD, False)]),
    (MAIN, standing(Standing.BEHIND), [(WorktreeTrouble.BEHIND, False)]),
    (MAIN, standing(Standing.DIVERGED), [(WorktreeTrouble.DIVERGED, False)]),
    (
        MAIN,
        standing(Standing.EQUAL, replace(THERE, base="older")),
        [(WorktreeTrouble.OUT_OF_DATE, False)],
    ),
    (
        MAIN,
        standing(Standing.EQUAL, replace(EDITED, base="older")),
        [(WorktreeTrouble.OUT_OF_DATE, True), (WorktreeTrouble.UNKEPT, False)],
    ),
]


@pytest.mark.parametrize(("place", "found", "wanted"), CASES)
def test_each_state_of_a_workspace_has_its_cure(
    place: WorktreePlace, found: WorkspaceOnHost, wanted: list[tuple[WorktreeTrouble, bool]]
) -> None:
    told = diagnose_worktree(place, found)
    assert [(each.trouble, each.barred) for each in told] == wanted
    assert all(each.cure is WORKTREE_CURES[each.trouble] for each in told)
    assert all(describe_worktree_trouble(each) for each in told)
    assert all(describe_worktree_cure(each) for each in told)


def test_every_trouble_is_found_in_some_case() -> None:
    found = {trouble for *_, wanted in CASES for trouble, _ in wanted}
    assert found == set(WorktreeTrouble) == set(WORKTREE_CURES)


def test_only_a_person_decides_about_branches_that_have_diverged() -> None:
    (found,) = diagnose_worktree(MAIN, standing(Standing.DIVERGED))
    assert found == WorktreeFinding(WorktreeTrouble.DIVERGED, WorktreeCure.PERSON)
