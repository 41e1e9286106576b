"""The replanner: changes the rest of a plan, from a step that cannot be done as planned."""

from functools import partial

from shared.domain.facts import Fact, PlanRevised
from shared.domain.plan import check_steps
from shared.domain.work_before import require_rows
from shared.store.database import Database
from workers.planning import ReplanRequest
from workers.process.leases import Hold
from workers.roles.backends import Backends
from workers.roles.briefings import Briefings
from workers.roles.looks import looks_of
from workers.roles.offers import is_repository, offer_for_plan, settle_steps
from workers.store import step_with_evidence


class Replanner:
    """Answers replanning jobs on behalf of the planner of the task."""

    def __init__(self, database: Database, backends: Backends, briefings: Briefings) -> None:
        self._database = database
        self._backends = backends
        self._briefings = briefings

    def perform(self, hold: Hold) -> Fact:
        """The steps that replace the remaining ones; some may not have subtasks yet.

        Raises Rejected if the planner has no answer that can be carried out.
        """
        job = hold.job
        brief, stored = step_with_evidence(self._database, job)
        policy = brief.task.policy
        on, prompt = (brief.target,), brief.task.effective_prompt
        briefing = self._briefings.of(on, task_id=brief.task.id, look=False)
        request = ReplanRequest(
            prompt=prompt,
            targets=briefing.targets,
            policy=policy,
            plan=brief.plan,
            phases=brief.phases,
            step=brief.step,
            bundle=stored.bundle,
            reason=job.note,
            evidence=stored.evidence,
            rules=briefing.rules,
            now=briefing.now,
            replies=brief.replies,
            done=brief.done,
            looks=looks_of(self._database, job, policy, brief.target),
            agents=offer_for_plan(self._database, prompt, on),
        )
        draft = self._backends.get(policy.planner).replan(request)
        check_steps(draft.steps)
        steps = settle_steps(self._database, draft.steps, on)
        known = max(brief.phases)
        in_repository = partial(is_repository, self._database)
        require_rows(request.run_with(steps), on, in_repository, known=known)
        return PlanRevised(
            step=brief.step.ordinal,
            revision=job.revision,
            pass_no=job.pass_no,
            known=known,
            steps=steps,
            reason=draft.summary,
        )
