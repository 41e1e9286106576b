"""What demonstrations have in common: a setting that is running, and what is asked of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.acts import projects, repositories
from orchestrator.acts.caller import Caller
from orchestrator.acts.projects import ProjectRequest
from orchestrator.acts.tasks import TaskRequest, submit
from orchestrator.embedded.stack import Stack
from shared.domain.ids import Ref
from shared.domain.target import Repository
from shared.store.database import Database

_POLICY = """
# An agent or a model writes here what then runs: elsewhere that asks. What is forbidden stays so.
unlisted: allow
"""


def policy_in(folder: Path, text: str) -> dict[str, str]:
    """The variable of a policy with that text, which is put into the folder."""
    policy = folder / "policy.yaml"
    policy.write_text(text, encoding="utf-8")
    return {"REPLAN_GUARD_POLICY": str(policy)}


def asks_nothing(folder: Path) -> dict[str, str]:
    """The variable of a policy under which nothing in that folder waits for an approval."""
    return policy_in(folder, _POLICY)


@dataclass(frozen=True, slots=True)
class Stage:
    """The setting of a demonstration.

    `opening` says, line by line, what people should know before the task begins. `repository` is
    added first, if there is one. `attempts` are worth a look afterwards: their references, without
    that of the task.
    """

    services: Stack
    opening: tuple[str, ...]
    request: TaskRequest | ProjectRequest
    repository: Repository | None = None
    attempts: tuple[str, ...] = ()

    @contextmanager
    def database(self) -> Iterator[Database]:
        """The database of the stage."""
        database = Database(self.services.database_url)
        try:
            yield database
        finally:
            database.close()

    def submit(self, caller: Caller) -> Ref:
        """Submit the task, or start the project, under the settings of the caller; returns it."""
        if self.repository is not None:
            repositories.add(caller, self.repository)
        if isinstance(self.request, ProjectRequest):
            return projects.start(caller, self.request).value.ref
        return submit(caller, self.request).value.ref
