"""Tasks whose plans name repositories: none is written that leads nowhere."""

from pathlib import Path

import pytest

from orchestrator.acts.submission import Submission, submit
from orchestrator.coordinator import Coordinator
from orchestrator.store import SqlLedger
from orchestrator.views.tasks import task_view
from shared.contracts.planfile import load_plan
from shared.domain.config import Policy
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.host import Host
from shared.domain.ids import Ref
from shared.domain.target import Repository
from shared.store import hosts, repositories
from shared.store.database import Database

PLAN = """
steps:
  - {title: One, repository: app, subtasks: [{run: 'true'}]}
  - {title: Two, repository: REPO, subtasks: [{run: 'true'}]}
"""


def submitted(database: Database, repository: str = "app", target: str = "localhost") -> int:
    """The number of a task with that repository in its plan."""
    plan = load_plan(PLAN.replace("REPO", repository), policy=Policy())
    return submit(database, Submission("mend it", (target,), Policy(), plan))


def test_a_repository_is_known_before_a_task_names_it(database: Database, tmp_path: Path) -> None:
    """In a step and as the target; a run keeps it, and so does its host."""
    with database.begin() as connection:
        hosts.save(connection, Host("web1", host_key="ssh-ed25519 AAAA"))
        repositories.save(connection, Repository("app", "localhost", path=str(tmp_path)))
        repositories.save(connection, Repository("site", "web1", path="/srv/site"))
    with pytest.raises(Rejected, match="'sit' is not the name of a repository; known: app, site"):
        submitted(database, "sit")
    with pytest.raises(Rejected, match=r"'sit' is not enrolled; .* these repositories: app, site"):
        submitted(database, target="sit")
    number = submitted(database, "site", target="app")
    with database.begin() as connection, pytest.raises(Rejected, match="have not ended"):
        repositories.remove(connection, "site")
    Coordinator(SqlLedger(database)).drain()
    with database.begin() as connection:
        (run,) = task_view(connection, Ref(number)).runs
        assert (run.target, [step.repository for step in run.steps]) == ("app", ["app", "site"])
        for name in ("app", "site"):
            with pytest.raises(Rejected, match="have not ended"):
                repositories.remove(connection, name)
        hosts.distrust(connection, "web1", "its key has changed")
    with pytest.raises(Misconfigured, match="web1 is disabled"):
        submitted(database, "site")
    with pytest.raises(Misconfigured, match="web1 is disabled"):
        submitted(database, target="site")
