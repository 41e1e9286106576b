"""The planner: the main steps of a task (S0.19, S0.26)."""

from shared.domain.facts import Fact, PlanDrafted
from shared.domain.plan import check_steps
from shared.store.database import Database
from workers.backends import Backends
from workers.leases import Hold
from workers.ports import PlanRequest
from workers.store import task_brief


class Planner:
    """Answers planning jobs."""

    def __init__(self, database: Database, backends: Backends) -> None:
        self._database = database
        self._backends = backends

    def perform(self, hold: Hold) -> Fact:
        """The plan. Raises Rejected when the backend has none that can be carried out."""
        with self._database.begin() as connection:
            task = task_brief(connection, hold.job.task_id)
        backend = self._backends.named(task.policy.planner)
        plan = backend.plan(PlanRequest(task.wanted, task.targets, task.policy, task.replies))
        check_steps(plan.steps)
        return PlanDrafted(plan)
