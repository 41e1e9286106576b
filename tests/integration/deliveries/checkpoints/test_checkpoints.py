"""What a checkpoint does about a remote, whatever it finds there."""

from shared.domain.checkpoint import Synced
from shared.domain.delivery import CheckpointEnding
from tests.integration.deliveries.checkpoints.accepted import Accepted
from tests.integration.workspaces.sources import run_git


def synced(accepted: Accepted, number: int = 1) -> dict[str, str]:
    """What was done with each worktree, by what stands behind the run in its name."""
    found = accepted.row(number).synced
    return {each["name"].removeprefix(f"{accepted.token}-"): each["outcome"] for each in found}


def test_what_was_accepted_is_published_verified_and_synced(accepted: Accepted) -> None:
    fact = accepted.checkpoint()

    assert fact.ending is CheckpointEnding.COMPLETE
    assert (fact.number, fact.accepted, fact.head) == (1, 1, accepted.head)
    assert accepted.published() == accepted.head
    row = accepted.row()
    assert (row.status, row.stage) == ("complete", "done")
    assert (row.head_local, row.head_remote) == (accepted.head, accepted.head)
    assert (row.remote, row.ref) == (str(accepted.remote), f"refs/heads/{accepted.branch}")
    assert row.report["tree"] == accepted.tree(accepted.head)
    assert row.report["pushed"] is True
    assert row.finished_at is not None
    assert synced(accepted) == {"main": Synced.MADE}
    assert run_git(accepted.remote, "for-each-ref", "--format=%(refname)") == row.ref
    assert accepted.source.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
