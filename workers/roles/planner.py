"""The planner: plans the main steps of a task (S0.19, S0.26), or as a manager a project (S3.55)."""

from dataclasses import replace
from functools import partial

from shared.domain.facts import Fact, PlanDrafted
from shared.domain.plan import check_steps
from shared.domain.work_before import require_rows
from shared.store import jobs, projects
from shared.store.database import Database
from workers.planning import PlannerBackend, PlanRequest
from workers.process.leases import Hold
from workers.roles.backends import Backends
from workers.roles.briefings import Briefings
from workers.roles.looks import looks_of
from workers.roles.offers import is_repository, offer_for_plan, only, settle_steps
from workers.store import task_brief


class Planner:
    """Answers planning jobs."""

    def __init__(self, database: Database, backends: Backends, briefings: Briefings) -> None:
        self._database = database
        self._backends = backends
        self._briefings = briefings

    def perform(self, hold: Hold) -> Fact:
        """The plan. Raises Rejected if the backend has no plan that can be carried out.

        Of a project, what the manager has found and planned is stored with it.
        """
        with self._database.begin() as connection:
            task = task_brief(connection, hold.job.task_id)
        backend = self._backends.get(task.policy.planner)
        briefing = self._briefings.of(task.targets, task_id=task.id, look=backend.uses_facts)
        request = PlanRequest(
            task.effective_prompt,
            briefing.targets,
            task.policy,
            facts=briefing.facts,
            rules=briefing.rules,
            now=briefing.now,
            replies=task.replies,
            looks=looks_of(self._database, hold.job, task.policy, task.targets[0]),
            agents=offer_for_plan(self._database, task.effective_prompt, task.targets),
            hosts=briefing.hosts,
        )
        if task.policy.project:
            return self._manage(hold, backend, request, task.targets)
        plan = backend.plan(request)
        check_steps(plan.steps)
        plan = replace(plan, steps=settle_steps(self._database, plan.steps, task.targets))
        require_rows(plan.steps, task.targets, partial(is_repository, self._database))
        return PlanDrafted(plan)

    def _manage(
        self, hold: Hold, backend: PlannerBackend, request: PlanRequest, on: tuple[str, ...]
    ) -> Fact:
        """The plan of a project. Tasks beside each other build on the head of their session."""
        draft = backend.project(replace(request, agents=only(request.agents, on)))
        check_steps(draft.plan.steps)
        steps = settle_steps(self._database, draft.plan.steps, on)
        with self._database.begin() as connection:
            jobs.require_held(connection, hold.job.claim, stage="plan")
            projects.save(connection, hold.job.task_id, draft.project)
        return PlanDrafted(replace(draft.plan, steps=steps))
