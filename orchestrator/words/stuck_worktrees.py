"""What is wrong with a workspace and what cures it, in words."""

from orchestrator.views.stuck_worktrees import WorktreeCure, WorktreeFinding, WorktreeTrouble

_TROUBLES = {
    WorktreeTrouble.NO_STEP: "the database knows no step that works there",
    WorktreeTrouble.STEP_ENDED: "its step has ended: nobody needs it",
    WorktreeTrouble.UNKEPT: "it holds changes that are kept nowhere else",
    WorktreeTrouble.AHEAD: "the session has commits that its branch on the remote does not have",
    WorktreeTrouble.BEHIND: "the branch on the remote has commits that the session does not have",
    WorktreeTrouble.DIVERGED: "the session and its branch on the remote have diverged",
    WorktreeTrouble.OUT_OF_DATE: "it is not at the commit that is published",
}
_CURES = {
    WorktreeCure.KEEP: "what it holds is kept as a tree",
    WorktreeCure.REMOVE: "what it holds is kept as a tree, and it is removed",
    WorktreeCure.SYNC: "it is brought to the published commit",
    WorktreeCure.CHECKPOINT: "a checkpoint publishes them, or takes over what is there",
    WorktreeCure.PERSON: "you decide: nothing is changed",
}


def describe_worktree_trouble(finding: WorktreeFinding) -> str:
    """What is wrong."""
    named = f": {', '.join(finding.names)}" if finding.names else ""
    return f"{_TROUBLES[finding.trouble]}{named}"


def describe_worktree_cure(finding: WorktreeFinding) -> str:
    """What repairs it, or why nothing does now."""
    if finding.barred:
        return "nothing now: a process works there, or it has files that cannot be kept"
    return _CURES[finding.cure]
