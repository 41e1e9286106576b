"""The planner: plans the main steps of a task (S0.19, S0.26)."""

from shared.domain.facts import Fact, PlanDrafted
from shared.domain.plan import check_steps
from shared.store.database import Database
from workers.planning import PlanRequest
from workers.process.leases import Hold
from workers.roles.backends import Backends
from workers.roles.briefings import Briefings
from workers.roles.looks import looks_of
from workers.store import task_brief


class Planner:
    """Answers planning jobs."""

    def __init__(self, database: Database, backends: Backends, briefings: Briefings) -> None:
        self._database = database
        self._backends = backends
        self._briefings = briefings

    def perform(self, hold: Hold) -> Fact:
        """The plan. Raises Rejected if the backend has no plan that can be carried out."""
        with self._database.begin() as connection:
            task = task_brief(connection, hold.job.task_id)
        backend = self._backends.get(task.policy.planner)
        briefing = self._briefings.of(task.targets, task_id=task.id, look=backend.uses_facts)
        plan = backend.plan(
            PlanRequest(
                task.effective_prompt,
                briefing.targets,
                task.policy,
                facts=briefing.facts,
                rules=briefing.rules,
                now=briefing.now,
                replies=task.replies,
                looks=looks_of(self._database, hold.job, task.policy, task.targets[0]),
            )
        )
        check_steps(plan.steps)
        return PlanDrafted(plan)
