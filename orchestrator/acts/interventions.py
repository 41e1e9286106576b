"""What a person may do with an intervention: answer it, approve it, deny it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from orchestrator.access.audit import Act
from orchestrator.acts import approvals
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.offered_rules import GivenRule, giving
from orchestrator.acts.post import post
from orchestrator.acts.signing import SigningKey
from orchestrator.acts.verbs import act
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.proposals.policy_file import RuleScope
from orchestrator.views.approvals import ApprovalAnswer, in_seconds
from orchestrator.views.interventions import (
    InterventionView,
    asked_of,
    intervention,
    list_interventions,
)
from orchestrator.views.places import require_step
from orchestrator.views.steps import StepLine, step_view
from orchestrator.views.tasks import task_view
from orchestrator.views.values import RefValue
from shared.domain.approval import ApprovalRequest, ApprovalScope
from shared.domain.attempt import Answer
from shared.domain.errors import Rejected, ReplanError
from shared.domain.facts import (
    ApprovalDenied,
    CommandsApproved,
    OutcomeTold,
    QuestionAnswered,
    RecordsSettled,
    RunFact,
)
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.question import Question, choice
from shared.domain.records import RecordsAnswer
from shared.domain.task import StepPhase, TaskPhase

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to an intervention, the phase of the task or step that asked, and a given rule.

    `rest` counts the other texts of the plan that were approved with it.
    """

    ref: RefValue
    phase: TaskPhase | StepPhase
    intervention: str
    answer: str
    rule: GivenRule | None = None
    rest: int = 0


@act("intervention.answer")
def answer(caller: Caller, name: str, given: str | Answer | RecordsAnswer | None) -> Done[Answered]:
    """Answer a question, or say how a command with an unknown outcome ended (an `Answer`).

    A `RecordsAnswer` says what becomes of records that a host has and the database does not know.
    The task or step that asked continues; its errors stay counted. Raises Rejected when the
    intervention asks something else, when the answer is not one of its options, and when it has
    already been answered.
    """
    asked = _intervention(caller, name)
    if isinstance(given, Answer):
        return _tell_outcome(caller, asked, given)
    if isinstance(given, RecordsAnswer):
        return _settle_records(caller, asked, given)
    return _answer_question(caller, asked, given)


@act("intervention.approve")
def approve(
    caller: Caller,
    name: str,
    scope: ApprovalScope = ApprovalScope.ONCE,
    rule: RuleScope | None = None,
    *,
    rest: Sequence[ApprovalRequest] = (),
) -> Done[Answered]:
    """Let a step run what it asks to run, exactly as shown, as often as the `scope` allows.

    The approval covers no other bytes, host, account or policy. With a `rule`, what would have
    allowed it is from now on a rule of that scope. The `rest` of its plan (`rest_of_plan`) is
    approved with it, each where it stands, for every pass, and what asks for nothing but that is
    answered. Raises Rejected when the intervention asks something else, when the guard now forbids
    a text, when it has already been answered, and when there is no such rule.
    """
    with caller.database.begin() as connection:
        view = intervention(connection, name)
        approvals.require_approvable(view)
        asked = asked_of(connection, name)
        policy = task_view(connection, view.ref).policy
        until = in_seconds(connection, policy.approval_ttl)
    approvals.refuse_forbidden(asked, approvals.guards_of(caller.settings.server, policy))
    by = caller.actor.name
    with ExitStack() as stack:
        rules = None
        wanted = approvals.approvals_of(asked, scope, by, until)
        once = approvals.approvals_of(rest, ApprovalScope.ONCE, by, until)
        wanted = (*wanted, *approvals.often(once))
        if rule is not None:
            rules = stack.enter_context(giving(caller, view, asked, policy, rule))
            with caller.database.begin() as connection:
                wanted = (*wanted, *rules.approvals(connection, asked, by, until))
        given = tuple(caller.signer.sign(view.ref.task, approval) for approval in wanted)
        done = _decide(
            caller,
            "intervention.approve",
            view,
            ApprovalAnswer.APPROVED,
            lambda at: CommandsApproved(at.ordinal, at.revision, at.pass_no, view.id, given),
            audited=_audited(rest) if rules is None else {**_audited(rest), **rules.audited()},
        )
        done = replace(done, value=replace(done.value, rest=len(rest)))
        if rules is not None:
            rules.put()
            done = replace(done, value=replace(done.value, rule=rules.outcome))
    if done.taken and rest:
        _approve_covered(caller, view, rest)
    return done


def _approve_covered(
    caller: Caller, view: InterventionView, rest: Sequence[ApprovalRequest]
) -> None:
    """Approve what has asked meanwhile, as on another host, if all of that was approved."""
    approved = {each.subject.digest for each in rest}
    with caller.database.begin() as connection:
        waiting = list_interventions(connection, task_id=view.ref.task)
    for each in waiting:
        if each.approvable and {asks.digest for asks in each.wanted} <= approved:
            with suppress(ReplanError):  # it goes on waiting, as where somebody was quicker
                approve(caller, each.name)


def _audited(rest: Sequence[ApprovalRequest]) -> Mapping[str, str]:
    return {"rest_of_plan": str(len(rest))} if rest else {}


@act("intervention.deny")
def deny(caller: Caller, name: str, note: str = "") -> Done[Answered]:
    """Do not let a step run what it asks to run; its planner reads the note and finds another way.

    Raises Rejected when the intervention asks something else or has already been answered.
    """
    with caller.database.begin() as connection:
        view = intervention(connection, name)
        approvals.require_approvable(view)
    by = caller.actor.name
    return _decide(
        caller,
        "intervention.deny",
        view,
        ApprovalAnswer.DENIED,
        lambda at: ApprovalDenied(at.ordinal, at.revision, at.pass_no, view.id, by, note),
    )


@act("intervention.key")
def signing_key(caller: Caller, *, new_passphrase: bool = False) -> SigningKey:
    """The key that signs the caller's approvals; created if there is none.

    With `new_passphrase`, a person is asked for another one first. Raises what `Signer` raises.
    """
    if new_passphrase:
        caller.signer.set_passphrase()
    return SigningKey(caller.signer.public, caller.signer.protected)


def _decide(
    caller: Caller,
    verb: str,
    asked: InterventionView,
    said: ApprovalAnswer | Answer | RecordsAnswer,
    fact_at: Callable[[StepLine], RunFact],
    *,
    too_late: Callable[[InterventionView], Rejected] = approvals.too_late,
    audited: Mapping[str, str] = NOTHING,
) -> Done[Answered]:
    """Post what a person says to a step that waits for it. Raises Rejected when it is too late."""
    step = _step(caller, asked.ref)
    entry = Act(verb, str(step.ref), {"intervention": asked.name, "answer": said.value, **audited})
    taken = _post_at(caller, entry, asked.ref, fact_at(step))
    after = _intervention(caller, asked.name)
    if taken and after.answer != said:
        raise too_late(after)
    step = _step(caller, asked.ref)
    return Done(Answered(step.ref, step.phase, asked.name, said), taken)


def _tell_outcome(caller: Caller, asked: InterventionView, said: Answer) -> Done[Answered]:
    _refuse_unless_unknown(asked)
    return _decide(
        caller,
        "intervention.answer",
        asked,
        said,
        lambda at: OutcomeTold(at.ordinal, at.revision, at.pass_no, said),
        too_late=_too_late_to_tell,
    )


def _settle_records(caller: Caller, asked: InterventionView, said: RecordsAnswer) -> Done[Answered]:
    _refuse_unless_records(asked, said)
    claims = tuple(sorted({record.claim for record in asked.records}))
    newest = max(record.pass_no for record in asked.records)
    by = caller.actor.name
    return _decide(
        caller,
        "intervention.answer",
        asked,
        said,
        lambda at: RecordsSettled(
            at.ordinal, at.revision, at.pass_no, asked.id, said, claims, newest, by
        ),
        too_late=_too_late_to_tell,
    )


def _refuse_unless_records(asked: InterventionView, said: RecordsAnswer) -> None:
    if asked.closed_at is not None:
        raise _too_late_to_tell(asked)
    if asked.kind != InterventionKind.FORGOTTEN:
        raise Rejected(
            f"{asked.name} does not ask about the records of a host: it waits because of "
            f"{asked.kind.replace('_', ' ')}",
            stage="input",
            next_step=asked.next_step,
        )
    if said is RecordsAnswer.ADOPT and not asked.adoptable:
        raise Rejected(
            f"{asked.name}: the plan says something else now than what the host has run, so the "
            "results cannot be those of this pass",
            stage="input",
            next_step=NextStep.of("intervention answer", asked.name, discard=True),
        )


def _answer_question(caller: Caller, asked: InterventionView, given: str | None) -> Done[Answered]:
    _refuse_unless_question(asked)
    if given is None:
        raise Rejected(
            f"{asked.name} asks: {asked.reason}", stage="input", next_step=asked.next_step
        )
    said = choice(
        Question(asked.reason, asked.options),
        given,
        any_text=asked.asker is not None,
        next_step=asked.next_step,
    )
    ref = asked.ref
    entry = Act("intervention.answer", str(asked.ref), {"intervention": asked.name})
    by = caller.actor.name
    if ref.target is None or ref.step is None:  # before there are runs it is the task's
        fact = QuestionAnswered(ref.step, asked.reason, said, asked.id, by)
        taken = post(caller, entry, [(ref.task, None, fact)])
    else:
        at = _step(caller, asked.ref)
        fact = QuestionAnswered(ref.step, asked.reason, said, asked.id, by, at.revision, at.pass_no)
        taken = _post_at(caller, entry, asked.ref, fact)
    after = _intervention(caller, asked.name)
    if taken and after.answer != said:
        raise approvals.too_late(after)
    return Done(Answered(asked.ref, _phase(caller, ref), asked.name, said), taken)


def _refuse_unless_question(asked: InterventionView) -> None:
    if asked.kind != InterventionKind.QUESTION:
        raise Rejected(
            f"{asked.name} does not ask a question: it waits because of "
            f"{asked.kind.replace('_', ' ')}",
            stage="input",
            next_step=asked.next_step,
        )
    if asked.closed_at is not None:
        raise approvals.too_late(asked)


def _refuse_unless_unknown(asked: InterventionView) -> None:
    if asked.closed_at is not None:
        raise _too_late_to_tell(asked)
    if asked.kind != InterventionKind.UNKNOWN:
        raise Rejected(
            f"{asked.name} does not ask how a command ended: it waits because of "
            f"{asked.kind.replace('_', ' ')}",
            stage="input",
            next_step=asked.next_step,
        )


def _too_late_to_tell(asked: InterventionView) -> Rejected:
    if asked.answer is not None:
        what = f"has already been answered: {asked.answer.replace('_', ' ')}"
    else:
        what = "is no longer waiting"
    return Rejected(
        f"{asked.name} {what}",
        stage="input",
        next_step=NextStep.of("intervention show", asked.name),
    )


def _post_at(caller: Caller, entry: Act, ref: Ref, fact: RunFact) -> bool:
    """Post a fact to the run of an intervention."""
    with caller.database.begin() as connection:
        place, _ = require_step(connection, ref)
    return post(caller, entry, [(place.task_id, place.run_id, fact)])


def _intervention(caller: Caller, name: str) -> InterventionView:
    with caller.database.begin() as connection:
        return intervention(connection, name)


def _step(caller: Caller, ref: Ref) -> StepLine:
    with caller.database.begin() as connection:
        return step_view(connection, ref).step


def _phase(caller: Caller, ref: Ref) -> TaskPhase | StepPhase:
    """The phase of the task or step that asked."""
    with caller.database.begin() as connection:
        if ref.target is None or ref.step is None:
            return task_view(connection, ref.of_task()).phase
        return step_view(connection, ref).step.phase
