"""What a model put right on two hosts, over SSH, the memory puts right on a third by itself."""

import os
from collections.abc import Iterator

import pytest

from benchmarks.stage import enrol
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.plan import Recovery
from tests.fakes.model_server import ModelServer, Says, model_server
from tests.journeys.plans import plan, step
from tests.services.accounts import Account
from tests.services.ring import Ring
from tests.services.sshd import SshServers
from tests.unit.planning.given import revision_answer, subtask_answer

BY_MODEL = Author(PlanningRole.SUBTASK_PLANNER, "anthropic")
POLICY = Policy(auto_correction_enabled=False, error_threshold_per_step=1)


@pytest.fixture
def model(ring: Ring) -> Iterator[ModelServer]:
    """A ring whose planning roles ask this model."""
    with model_server() as server:
        ring.extra |= server.environ
        ring.coordinator()
        ring.worker("subtask_planner", "escalation", "executor")
        yield server
        ring.stop()


def test_what_was_learnt_on_two_hosts_puts_a_third_one_right(
    ring: Ring, model: ModelServer, sshd_factory: SshServers, ssh_account: Account
) -> None:
    """Three servers, three homes, two questions to the model."""
    names = ("web1", "web2", "web3")
    for name in names:
        folder = ssh_account.home / name
        folder.mkdir()
        os.chown(folder, ssh_account.uid, -1)
        enrol(ring.database, name, sshd_factory())
        with ring.database.begin() as connection:
            connection.exec_driver_sql(
                "UPDATE hosts SET workdir = %(folder)s WHERE name = %(name)s",
                {"folder": str(folder), "name": name},
            )
    for name in names:
        folder = ssh_account.home / name
        command = f"grep listen {folder}/settings/site.conf > {folder}/served.conf"
        check = f"test -s {folder}/served.conf"
        making = f"mkdir -p {folder}/settings && echo listen >> {folder}/settings/site.conf"
        if name != names[-1]:
            serve = subtask_answer("serve", command, check=check, needs=["make"])
            model.will(Says(revision_answer(subtask_answer("make", making), serve)))
        broken = plan(step([command], author=BY_MODEL, recovery=Recovery.REPLAN, check=check))
        ring.ends(ring.submit(broken, name, policy=POLICY))
        assert (folder / "served.conf").read_text() == "listen\n"
    assert len(model.asked) == 2
    (use,) = ring.rows("SELECT fix_id, task_id, worked FROM fix_uses")
    assert use == (1, 3, True)
    authors = ring.rows("SELECT author_role, author_backend, reason FROM revisions ORDER BY run_id")
    assert [(a.author_role, a.author_backend) for a in authors] == [
        ("subtask_planner", "anthropic")
    ] * 3
    assert authors[2].reason.startswith("from fix F1, learnt from T1.1@web1 (first use): ")
    history = ring.rows(
        "SELECT revision, subtask, outcome FROM attempts WHERE run_id = 3 ORDER BY id"
    )
    assert history == [(0, 1, "failed"), (1, 1, "ok"), (1, 2, "ok")]
