"""What a checkpoint does about a remote, whatever it finds there."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from orchestrator.words.checkpoints import recipes
from shared.domain.checkpoint import CheckpointReport
from shared.domain.delivery import CheckpointEnding
from shared.domain.errors import Misconfigured, Transient, Unavailable
from shared.domain.target import ForgeKind
from shared.store import deliveries
from shared.wire import from_json
from tests.fakes.forge import PROJECT, TOKEN, ScriptedForge
from tests.integration.deliveries.checkpoints.accepted import Accepted
from tests.integration.workspaces.sources import run_git


def commit_on_remote(accepted: Accepted, parent: str, title: str) -> str:
    """A commit that somebody else has pushed to the branch of the session."""
    remote = accepted.remote
    made = run_git(remote, "commit-tree", f"{parent}^{{tree}}", "-p", parent, "-m", title)
    run_git(remote, "update-ref", f"refs/heads/{accepted.branch}", made)
    return made


def test_what_was_accepted_is_published_verified_and_synced(accepted: Accepted) -> None:
    """And nothing else on the remote, or in the source, is touched."""
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
    assert accepted.synced() == {"main": "made"}
    assert run_git(accepted.remote, "for-each-ref", "--format=%(refname)") == row.ref
    assert accepted.source.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_the_next_one_continues_the_branch(accepted: Accepted) -> None:
    """What the remote has already is not pushed again."""
    accepted.hook("post-receive", f"cat >>'{accepted.folder}/updates'")
    first = accepted.checkpoint().head
    second = accepted.accept(readme="better\n")
    assert accepted.checkpoint(2).head == second
    assert accepted.checkpoint(3).head == second

    updates = (accepted.folder / "updates").read_text().split()
    assert updates[0::3][1] == first
    assert updates[1::3] == [first, second]
    assert accepted.row(3).report["pushed"] is False
    assert accepted.synced(2) == {"main": "updated"}
    assert accepted.synced(3) == {"main": "same"}


def test_what_the_remote_has_in_addition_is_adopted(accepted: Accepted) -> None:
    """S2.50: nothing is pushed, and the session goes on from there."""
    accepted.checkpoint()
    theirs = commit_on_remote(accepted, accepted.head, "a fix by hand")

    fact = accepted.checkpoint(2)

    assert (fact.ending, fact.head) == (CheckpointEnding.COMPLETE, theirs)
    assert "1 commit more" in fact.reason
    assert accepted.published() == theirs
    assert accepted.row(2).head_local == accepted.head


def test_branches_that_diverged_stop_it_and_nothing_changes(accepted: Accepted) -> None:
    """S2.51: both sides and two recipes are shown; each recipe works."""
    accepted.checkpoint()
    before = accepted.head
    ours = accepted.accept(readme="better\n")
    theirs = commit_on_remote(accepted, before, "a fix by hand")

    fact = accepted.checkpoint(2)

    row = accepted.row(2)
    assert fact.ending is CheckpointEnding.DIVERGED
    assert (row.status, row.stage, row.head_remote) == ("diverged", "verify", None)
    assert accepted.published() == theirs
    assert accepted.synced(2) == {}
    report = from_json(CheckpointReport, row.report)
    assert report.found is not None
    assert [commit.id for commit in report.found.ours] == [ours]
    assert [commit.title for commit in report.found.theirs] == ["a fix by hand"]
    assert report.found.base == before

    keep, go_on = recipes(report, str(accepted.remote), accepted.branch)
    clone = accepted.folder / "clone"
    run_git(accepted.folder, "clone", "--quiet", str(accepted.remote), str(clone))
    accepted.type(*keep.on_host)
    accepted.type(*keep.in_clone, folder=clone)
    assert accepted.checkpoint(3).head == accepted.published() != theirs

    accepted.accept(readme="best\n")
    assert accepted.checkpoint(4).ending is CheckpointEnding.DIVERGED
    report = from_json(CheckpointReport, accepted.row(4).report)
    accepted.type(*recipes(report, str(accepted.remote), accepted.branch)[1].on_host)
    assert accepted.checkpoint(5).head == accepted.published() == accepted.head
    assert go_on.what


@pytest.mark.parametrize("why", ["red", "forged", "missing"])
def test_only_what_was_attested_is_pushed(accepted: Accepted, why: str) -> None:
    if why == "red":
        accepted.accept(ok=False, code="print(0)\n")
    elif why == "forged":
        accepted.distrust()
    else:
        with accepted.database.begin() as connection:
            connection.execute(text("UPDATE runs SET head = repeat('0', 40)"))

    fact = accepted.checkpoint()

    assert fact.ending is CheckpointEnding.UNPROVEN
    assert fact.reason
    assert accepted.published() is None
    assert accepted.row().status == "unproven"
    assert accepted.row().report["next_step"] is not None


def test_a_remote_that_refuses_ends_it_with_its_words(accepted: Accepted) -> None:
    """Nothing is synced; the next checkpoint, once that is put right, is complete."""
    accepted.hook("pre-receive", "echo 'no deliveries on fridays'; exit 1")
    fact = accepted.checkpoint()

    assert fact.ending is CheckpointEnding.REFUSED
    assert "no deliveries on fridays" in fact.reason
    assert "pre-receive hook declined" in fact.reason
    assert (accepted.published(), accepted.synced()) == (None, {})
    assert accepted.checkpoint() == fact

    (accepted.remote / "hooks/pre-receive").unlink()
    assert accepted.checkpoint(2).ending is CheckpointEnding.COMPLETE


def test_a_remote_that_vanishes_in_the_middle_is_waited_for(accepted: Accepted) -> None:
    accepted.hook("pre-receive", "kill -9 $PPID")
    with pytest.raises(Unavailable):
        accepted.checkpoint()
    assert accepted.published() is None
    assert (accepted.row().status, accepted.row().stage) == ("under_way", "publish")

    away = accepted.remote.rename(accepted.folder / "away")
    with pytest.raises(Unavailable, match="there is no folder"):
        accepted.checkpoint()

    away.rename(accepted.remote)
    (accepted.remote / "hooks/pre-receive").unlink()
    assert accepted.checkpoint().ending is CheckpointEnding.COMPLETE


def test_a_push_whose_answer_was_lost_is_resolved_by_looking(accepted: Accepted) -> None:
    """The remote has taken it and dies before it says so: it is not pushed again."""
    log = accepted.folder / "updates"
    accepted.hook("post-receive", f"cat >>'{log}'; kill -9 $PPID")
    assert accepted.checkpoint().ending is CheckpointEnding.COMPLETE
    assert len(log.read_text().splitlines()) == 1


def test_a_branch_that_somebody_works_on_is_refused_early(accepted: Accepted) -> None:
    """Git may be told to allow it; then the files under somebody's hands would change."""
    accepted.use(remote=None)
    accepted.source.git("switch", "--quiet", "-c", accepted.branch)
    accepted.source.git("config", "receive.denyCurrentBranch", "updateInstead")

    fact = accepted.checkpoint()

    assert fact.ending is CheckpointEnding.REFUSED
    assert f"is checked out in {accepted.source.folder}" in fact.reason
    assert "git -C" in accepted.row().report["next_step"]["text"]
    accepted.source.git("switch", "--quiet", "main")
    accepted.source.git("branch", "--quiet", "-D", accepted.branch)
    assert accepted.checkpoint(2).ending is CheckpointEnding.COMPLETE
    assert accepted.source.git("rev-parse", accepted.branch) == accepted.head
    assert accepted.source.git("status", "--porcelain") == ""


def test_a_slow_remote_does_not_keep_a_worker_that_has_to_stop(accepted: Accepted) -> None:
    """The push is ended with all that it started, and driven on by the next worker."""
    began = accepted.folder / "began"
    os.mkfifo(began)
    accepted.hook("pre-receive", f"echo >'{began}'; exec sleep 600")
    hold = accepted.hold()
    with ThreadPoolExecutor() as threads:
        running = threads.submit(accepted.checkpoint, 1, hold)
        began.read_text()
        hold.lost.set()
        with pytest.raises(Transient):
            running.result(timeout=60)
    accepted.hook("pre-receive", "exit 0")
    assert accepted.checkpoint().ending is CheckpointEnding.COMPLETE


def test_a_worker_that_lost_the_job_changes_nothing_more(accepted: Accepted) -> None:
    late = accepted.hold()
    fact = accepted.checkpoint()
    accepted.accept(readme="better\n")
    with pytest.raises(Transient, match="another worker"):
        accepted.checkpoint(hold=late)
    assert accepted.published() == fact.head


def test_two_workers_at_once_come_to_one_end(accepted: Accepted) -> None:
    """Whoever still has the job reports it; the branch is written once."""
    log = accepted.folder / "updates"
    accepted.hook("post-receive", f"cat >>'{log}'")
    hold = accepted.hold()
    both = threading.Barrier(2)

    def drive() -> CheckpointEnding:
        both.wait()
        return accepted.checkpoint(hold=hold).ending

    with ThreadPoolExecutor() as threads:
        ends = [threads.submit(drive) for _ in range(2)]
    assert {end.result() for end in ends} == {CheckpointEnding.COMPLETE}
    assert len(log.read_text().splitlines()) == 1


def test_a_task_in_several_repositories_has_a_branch_in_each(accepted: Accepted) -> None:
    """They may have one remote."""
    with accepted.database.begin() as connection:
        copied = text("""
            INSERT INTO runs (task_id, target, phase) SELECT task_id, 'other', phase FROM runs
        """)
        connection.execute(copied)
    accepted.checkpoint()
    assert accepted.row().ref == f"refs/heads/session/T{accepted.task}-app"


def test_one_that_waited_for_the_operator_ends_with_the_next(accepted: Accepted) -> None:
    with ScriptedForge.serving(ForgeKind.GITHUB) as forge:
        accepted.use(forge=forge.entry())
        accepted.asks_forge()
        forge.fail("GET", 401)
        with pytest.raises(Misconfigured):
            accepted.checkpoint()
        assert accepted.row().status == "under_way"
        assert accepted.checkpoint(2).ending is CheckpointEnding.COMPLETE

    assert (accepted.row().status, accepted.row().head_remote) == ("given_up", accepted.head)
    assert "another checkpoint" in accepted.row().report["reason"]
    assert accepted.row(2).status == "complete"


def test_one_of_a_cancelled_session_publishes_only_what_it_had_begun_to(
    accepted: Accepted,
) -> None:
    accepted.hook("pre-receive", "kill -9 $PPID")
    with pytest.raises(Unavailable):
        accepted.checkpoint()
    (accepted.remote / "hooks/pre-receive").unlink()
    accepted.cancel()
    assert accepted.checkpoint().ending is CheckpointEnding.COMPLETE

    accepted.accept(code="print(2)\n")
    fact = accepted.checkpoint(2)
    assert (fact.ending, "was cancelled" in fact.reason) == (CheckpointEnding.GIVEN_UP, True)
    assert accepted.published() == accepted.row(1).head_local
    assert accepted.row(2).finished_at is not None


def test_one_that_fails_in_a_cancelled_session_ends_with_that(accepted: Accepted) -> None:
    accepted.hook("pre-receive", "kill -9 $PPID")
    with pytest.raises(Unavailable):
        accepted.checkpoint()
    noted = accepted.row().report
    for reason in ("it was cancelled", "it has ended before"):
        with accepted.database.begin() as connection:
            deliveries.end_checkpoint(connection, accepted.run, 1, reason)
    row = accepted.row()
    assert row.status == "refused"
    assert row.report == {**noted, "reason": "it was cancelled"}, "what was noted stays"
    assert row.finished_at is not None


def test_secrets_in_what_a_remote_says_are_hidden(accepted: Accepted) -> None:
    accepted.hook("pre-receive", "echo hunter2; exit 1")
    accepted.masks("hunter2")
    fact = accepted.checkpoint()
    assert "hunter2" not in fact.reason + str(accepted.row())
    assert "***" in fact.reason

    (accepted.remote / "hooks/pre-receive").unlink()
    accepted.checkpoint(2)
    before = accepted.head
    accepted.accept(readme="better\n")
    commit_on_remote(accepted, before, "the password is hunter2")
    accepted.checkpoint(3)
    (theirs,) = accepted.row(3).report["found"]["theirs"]
    assert theirs["title"] == "the password is ***"


def test_a_request_to_merge_is_opened_once_it_is_verified(accepted: Accepted) -> None:
    """Its text names what was accepted; without the forge, all else is done, and it waits."""
    with ScriptedForge.serving(ForgeKind.GITEA) as forge:
        accepted.use(forge=forge.entry())
        accepted.asks_forge()
        forge.fail("POST", 503)
        with pytest.raises(Unavailable):
            accepted.checkpoint()
        assert (accepted.row().stage, accepted.row().head_remote) == ("request", accepted.head)
        assert accepted.synced() == {"main": "made"}

        assert accepted.checkpoint().ending is CheckpointEnding.COMPLETE
        assert accepted.row().report["request"]["opened"] is True
        accepted.accept(readme="better\n")
        accepted.checkpoint(2)

    (made,) = forge.open
    assert accepted.row(2).report["request"] == {
        "url": f"https://forge.example/{PROJECT}/1",
        "number": 1,
        "opened": False,
    }
    assert (made.source, made.title) == (accepted.branch, f"T{accepted.task}@app: Fix ***")
    assert "| 1 | `L-001001` | `step 1` | `commands` | 0 | +0 -0 | 2 |  |" in made.text
    assert accepted.head in made.text
    assert accepted.tree(accepted.head) in made.text
    assert TOKEN not in str(accepted.row(2))
