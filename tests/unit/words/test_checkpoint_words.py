"""One screen for branches that have diverged, and what was done with worktrees."""

from dataclasses import replace

import pytest

from orchestrator.words.checkpoints import describe_worktree, divergence, recipes
from shared.domain.checkpoint import (
    CheckpointReport,
    Commit,
    FoundOnRemote,
    Standing,
    Synced,
    SyncedWorktree,
)
from shared.domain.next_step import ShellCommand

OURS, THEIRS, BOTH = "a" * 40, "b" * 40, "c" * 40
FOUND = FoundOnRemote(
    Standing.DIVERGED,
    THEIRS,
    ahead=1,
    behind=12,
    base=BOTH,
    ours=(Commit(OURS, "accept it"),),
    theirs=(Commit(THEIRS, "fix a typo"), Commit("d" * 40, "")),
)
REPORT = CheckpointReport(found=FOUND, git_dir="/home/a b/ours.git")


def test_one_screen_shows_both_sides() -> None:
    assert list(divergence(REPORT, "session/T1")) == [
        "both have cccccccccccc",
        "only session/T1 on the remote has 12 commits:",
        "  bbbbbbbbbbbb fix a typo",
        "  dddddddddddd ",
        "  and 10 more",
        "only the session has 1 commit:",
        "  aaaaaaaaaaaa accept it",
    ]


def test_no_way_out_loses_a_commit() -> None:
    keep, go_on = recipes(REPORT, "/srv/app.git", "session/T1")
    git = "git --git-dir '/home/a b/ours.git' push"

    assert keep.on_host == (
        ShellCommand(f"{git} /srv/app.git {OURS}:refs/heads/session/T1-replan"),
    )
    assert [step.text.split()[1] for step in keep.in_clone] == ["fetch", "switch", "merge", "push"]
    (aside,) = go_on.on_host
    assert aside.text.endswith(f"{THEIRS}:refs/heads/session/T1-aside :refs/heads/session/T1")
    assert f"--force-with-lease=refs/heads/session/T1:{THEIRS}" in aside.text


@pytest.mark.parametrize("standing", [each for each in Standing if each is not Standing.DIVERGED])
def test_there_is_no_way_out_of_what_has_not_diverged(standing: Standing) -> None:
    for report in (CheckpointReport(), replace(REPORT, found=replace(FOUND, standing=standing))):
        assert recipes(report, "/srv/app.git", "session/T1") == ()
        assert list(divergence(report, "session/T1")) == []


@pytest.mark.parametrize("outcome", Synced)
def test_every_outcome_of_a_worktree_has_words(outcome: Synced) -> None:
    said = describe_worktree(SyncedWorktree("R1-main", outcome, "git: no room"))
    assert said.startswith("R1-main: ")
    assert said.endswith(": git: no room")
