"""Changing what remains of a plan, from a step that cannot be done as it was planned."""

from dataclasses import replace

from shared.domain.errors import Rejected
from shared.domain.facts import Fact, PlanRevised
from shared.domain.plan import Author, Plan, Role, Step, check_steps
from shared.store.database import Database
from workers.planning import DetailRequest, ReplanRequest
from workers.process.leases import Hold
from workers.roles.backends import Backends
from workers.roles.briefings import Briefings
from workers.store import StepBrief, step_with_evidence


class Replanner:
    """Answers replanning jobs, for whoever planned the task."""

    def __init__(self, database: Database, backends: Backends, briefings: Briefings) -> None:
        self._database = database
        self._backends = backends
        self._briefings = briefings

    def perform(self, hold: Hold) -> Fact:
        """The steps that take the place of those that remain, each with its subtasks.

        What the planner leaves bare is detailed by the subtask planner, which its evidence then
        goes to. Raises Rejected when either has no answer that can be carried out.
        """
        job = hold.job
        brief, stored = step_with_evidence(self._database, job)
        policy = brief.task.policy
        told = self._briefings.of((brief.host.name,), task_id=brief.task.id, look=False)
        request = ReplanRequest(
            prompt=brief.task.wanted,
            targets=told.targets,
            policy=policy,
            plan=brief.plan,
            phases=brief.phases,
            step=brief.step,
            bundle=stored.bundle,
            reason=job.note,
            evidence=stored.evidence,
            rules=told.rules,
        )
        draft = self._backends.named(policy.planner).replan(request)
        steps = tuple(self._detailed(step, draft, brief) for step in draft.steps)
        check_steps(steps)
        return PlanRevised(
            step=brief.step.ordinal,
            revision=job.revision,
            pass_no=job.pass_no,
            known=max(brief.phases),
            steps=steps,
            reason=draft.summary,
        )

    def _detailed(self, step: Step, draft: Plan, brief: StepBrief) -> Step:
        name = brief.task.policy.subtask_planner
        if step.subtasks:
            return step
        if name == "human":
            raise Rejected(
                f"the planner has changed the plan, and a person is to detail it: {step.title}",
                stage="replan",
            )
        backend = self._backends.named(name)
        told = self._briefings.of(
            (brief.host.name,), task_id=brief.task.id, look=backend.uses_facts
        )
        subtasks = backend.detail(
            DetailRequest(
                brief.task.wanted,
                told.targets,
                brief.task.policy,
                draft,
                step,
                told.facts,
                told.rules,
            )
        )
        return replace(step, subtasks=subtasks, author=Author(Role.SUBTASK_PLANNER, name))
