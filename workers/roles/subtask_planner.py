"""The subtask planner: plans the commands of a step (S0.20, S0.28) and revises them (S0.54)."""

from dataclasses import replace

from shared.domain.acceptance import missing_checks
from shared.domain.author import Author, PlanningRole
from shared.domain.errors import Defect, Rejected
from shared.domain.facts import Fact, PlanRevised, StepDetailed, StepHandedUp, StepRevised
from shared.domain.jobs import Job
from shared.domain.next_step import Blank, NextStep
from shared.domain.plan import Plan, Step, check_steps, check_subtasks
from shared.domain.question import Reply
from shared.domain.task import StepPhase
from shared.guard.proofs import proof_rules
from shared.store import targets
from shared.store.database import Database
from workers.findings import PlanChange, change_behind, replaced_subtasks
from workers.fixes.failed_fix import fix_behind, to_undo
from workers.fixes.recall import hints, recall
from workers.planning import DetailRequest, Looks, NotAsPlanned, ReviseRequest, RevisionDraft
from workers.process.leases import Hold
from workers.repetition import refuse_repetition
from workers.roles.acceptance import acceptance_in_force, with_drops
from workers.roles.backends import Backends
from workers.roles.briefings import Briefings
from workers.roles.looks import looks_of
from workers.roles.offers import offer_for_step, settle_subtasks
from workers.store import StepBrief, draft_of, step_brief, step_with_evidence, task_brief


class SubtaskPlanner:
    """Answers detailing jobs."""

    def __init__(self, database: Database, backends: Backends, briefings: Briefings) -> None:
        self._database = database
        self._backends = backends
        self._briefings = briefings

    def perform(self, hold: Hold) -> Fact:
        """Revision 0 of a step: of a task, of a run, or each one of a changed plan that is bare."""
        if hold.job.run_id is not None:
            return self._detail_in_run(hold.job, hold.job.run_id)
        with self._database.begin() as connection:
            task = task_brief(connection, hold.job.task_id)
        if task.plan is None or hold.job.step is None:
            raise Defect(f"job {hold.job.id} names no step of a plan", stage="detail")
        step = task.plan.step(hold.job.step)
        name = task.policy.subtask_planner
        backend = self._backends.get(name)
        on = tuple(dict.fromkeys(targets.name_for(step, target) for target in task.targets))
        briefing = self._briefings.of(on, task_id=task.id, look=backend.uses_facts)
        subtasks = backend.detail(
            DetailRequest(
                task.effective_prompt,
                briefing.targets,
                task.policy,
                task.plan,
                step,
                hosts=briefing.hosts,
                facts=briefing.facts,
                rules=briefing.rules,
                now=briefing.now,
                replies=task.replies,
                looks=looks_of(self._database, hold.job, task.policy, task.targets[0]),
                agents=offer_for_step(self._database, step, task.targets),
            )
        )
        check_subtasks(subtasks, where=f"step {step.ordinal}")
        subtasks = settle_subtasks(self._database, step, task.targets, subtasks)
        return StepDetailed(step.ordinal, subtasks, Author(PlanningRole.SUBTASK_PLANNER, name))

    def _detail_in_run(self, job: Job, run_id: int) -> Fact:
        with self._database.begin() as connection:
            brief = step_brief(connection, job)
            in_turn = brief.phases[brief.step.ordinal] == StepPhase.DETAILING
            change = change_behind(connection, run_id, brief.step.ordinal)
        try:
            return self._in_turn(job, brief, change) if in_turn else self._changed_plan(job)
        except Rejected as error:
            by_hand = NextStep.of("step revise", str(brief.ref), file=Blank("FILE"))
            raise Rejected(error.reason, stage=error.stage, next_step=by_hand) from error

    def _in_turn(self, job: Job, brief: StepBrief, change: PlanChange) -> Fact:
        """The subtasks of a step whose turn has come; it sees what the steps before have found."""
        looks = looks_of(self._database, job, brief.task.policy, brief.target)
        kept = (s for s in brief.plan.steps if brief.phases[s.ordinal] != StepPhase.REPLACED)
        plan = replace(brief.plan, steps=tuple(kept))
        detailed = self._detail_step(brief.step, plan, brief, change, looks)
        check_subtasks(detailed.subtasks, where=f"step {detailed.ordinal}")
        return StepDetailed(detailed.ordinal, detailed.subtasks, detailed.author)

    def _changed_plan(self, job: Job) -> Fact:
        brief, stored = step_with_evidence(self._database, job)
        with self._database.begin() as connection:
            draft = draft_of(connection, job)
        change = PlanChange(draft.reason, stored.evidence)
        brief = replace(brief, done=tuple(replace(each, ordinal=None) for each in brief.done))
        plan = Plan(draft.steps, draft.reason)
        looks = looks_of(self._database, job, brief.task.policy, brief.target)
        steps = []
        for step in draft.steps:
            if step.subtasks:
                steps.append(step)
                continue
            steps.append(self._detail_step(step, plan, brief, change, looks))
            # What is paid for is not thrown away: only the planner of the first may look.
            looks = replace(looks, left=0)
        check_steps(steps)
        return PlanRevised(
            brief.step.ordinal, job.revision, job.pass_no, draft.known, tuple(steps), draft.reason
        )

    def _detail_step(
        self, step: Step, plan: Plan, brief: StepBrief, change: PlanChange, looks: Looks
    ) -> Step:
        name = brief.task.policy.subtask_planner
        backend = self._backends.get(name)
        on = (brief.target,)
        place = targets.name_for(step, brief.target)
        briefing = self._briefings.of((place,), task_id=brief.task.id, look=backend.uses_facts)
        with self._database.begin() as connection:
            before = replaced_subtasks(connection, brief.run_id, place, _going(brief))
        subtasks = backend.detail(
            DetailRequest(
                brief.task.effective_prompt,
                briefing.targets,
                brief.task.policy,
                plan,
                step,
                hosts=briefing.hosts,
                facts=briefing.facts,
                rules=briefing.rules,
                now=briefing.now,
                replies=brief.replies,
                done=brief.done,
                why=change.why,
                evidence=change.evidence,
                looks=looks,
                agents=offer_for_step(self._database, step, on),
                before=before,
            )
        )
        subtasks = settle_subtasks(self._database, step, on, subtasks)
        return replace(step, subtasks=subtasks, author=Author(PlanningRole.SUBTASK_PLANNER, name))


class Reviser:
    """Answers revision jobs on behalf of the role and backend that planned the step (S0.47)."""

    def __init__(self, database: Database, backends: Backends, briefings: Briefings) -> None:
        self._database = database
        self._backends = backends
        self._briefings = briefings

    def perform(self, hold: Hold) -> Fact:
        """The next list of subtasks, or the fact that the step cannot be done as planned.

        Raises Rejected for a list that has failed before and for a rollback that does not exist.
        """
        job = hold.job
        brief, stored = step_with_evidence(self._database, job)
        acceptance = acceptance_in_force(brief, proof_rules())
        from_memory = recall(self._database, brief, stored, job.note)
        if from_memory and not missing_checks(acceptance, from_memory.subtasks):
            return from_memory
        backend = self._backends.get(brief.author.backend)
        briefing = self._briefings.of((brief.place,), task_id=brief.task.id, look=False)
        on = (brief.target,)
        request = ReviseRequest(
            bundle=stored.bundle,
            policy=brief.task.policy,
            step=brief.step,
            subtasks=brief.subtasks,
            note=_note(brief, job),
            earlier=brief.revisions,
            evidence=stored.evidence,
            target=briefing.targets[0],
            rules=briefing.rules,
            past_fixes=hints(self._database, brief, stored),
            now=briefing.now,
            replies=brief.replies,
            looks=looks_of(self._database, job, brief.task.policy, brief.target),
            acceptance=acceptance,
            host=brief.host.name,
            agents=offer_for_step(self._database, brief.step, on, brief.revisions),
        )
        try:
            draft = backend.revise(request)
        except NotAsPlanned as error:
            if brief.author.role is not PlanningRole.SUBTASK_PLANNER:
                raise
            planner = _planner_of(brief)
            return StepHandedUp(
                brief.step.ordinal, job.revision, job.pass_no, planner, error.reason
            )
        settled = settle_subtasks(self._database, brief.step, on, draft.subtasks)
        draft = with_drops(replace(draft, subtasks=settled), brief, acceptance)
        check_subtasks(draft.subtasks, where=f"step {brief.step.ordinal}")
        _refuse_repetition(brief, draft)
        return StepRevised(
            step=brief.step.ordinal,
            revision=job.revision + 1,
            author=brief.author,
            subtasks=draft.subtasks,
            reason=draft.reason,
            rollback=self._rollback(brief, draft),
            dropped_checks=draft.dropped_checks,
        )

    def _rollback(self, brief: StepBrief, draft: RevisionDraft) -> tuple[str, ...]:
        """What the planner undoes, and what a remembered fix did that failed before it."""
        if fix_behind(self._database, brief) is None:
            return draft.rollback
        return tuple(dict.fromkeys((*draft.rollback, *to_undo(brief))))


def _going(brief: StepBrief) -> frozenset[int]:
    """The steps that the changed plan will replace; none for a step whose turn has come."""
    if brief.phases[brief.step.ordinal] == StepPhase.DETAILING:
        return frozenset()
    later = (
        number
        for number, phase in brief.phases.items()
        if phase in {StepPhase.NOT_STARTED, StepPhase.SKIPPED}
    )
    return frozenset({brief.step.ordinal, *later})


def _note(brief: StepBrief, job: Job) -> str:
    """The words of people: the answer given for the step, and the note on this revision."""
    step = brief.step
    answered = "" if step.answer is None else str(Reply(step.ask_question, step.answer))
    return "\n".join(part for part in (answered, job.note) if part)


def _planner_of(brief: StepBrief) -> Author:
    """The author of the whole plan, who gets the steps that cannot be done as planned.

    Whether a person provided the plan is in the task's row, which is not part of the state of a
    run. The fact therefore carries it, and the coordinator decides whom to ask.
    """
    if brief.task.plan_given:
        return Author(PlanningRole.HUMAN, "human")
    return Author(PlanningRole.PLANNER, brief.task.policy.planner)


def _refuse_repetition(brief: StepBrief, draft: RevisionDraft) -> None:
    place = str(brief.ref)
    try:
        refuse_repetition(draft.subtasks, draft.rollback, brief.revisions)
    except Rejected as error:
        raise Rejected(
            f"the planner's answer is refused: {error.reason}",
            stage="revise",
            next_step=NextStep.of("step revise", place, file=Blank("FILE")),
        ) from error
