"""What a person can do about what waits: the commands that help, the most likely first."""

from collections.abc import Sequence

from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views import questions as asked
from orchestrator.views.unpaid import ways_on
from shared.domain.ids import Ref
from shared.domain.next_step import Advice, Blank, NextStep
from shared.domain.spending import Unpaid

_OF_SESSIONS = frozenset({InterventionKind.DELIVERY, InterventionKind.CHECKPOINT})


def next_steps(
    kind: str,
    ref: Ref,
    given: Advice | None,
    *,
    number: int = 0,
    approvable: bool = False,
    adoptable: bool = True,
    options: Sequence[str] = (),
    any_text: bool = False,
    unpaid: Unpaid | None = None,
    delivered: bool = False,
    stopped: bool = False,
    by_hand: bool = False,
) -> tuple[Advice, ...]:
    """What a person can do about intervention `number`; `given` is what its cause suggests.

    A delivery of its step came back if `delivered`; `stopped`: a checkpoint was tried in vain;
    `by_hand`: no planner but a person has written its step.
    """
    if approvable and ref.step is not None:
        return _of_approval(number, ref)
    if kind == InterventionKind.UNKNOWN and ref.step is not None:
        return _of_unknown(number, ref)
    if kind == InterventionKind.FORGOTTEN and ref.step is not None:
        return _of_forgotten(number, ref, adoptable=adoptable)
    if unpaid is not None and ref.step is not None:
        return ways_on(unpaid, ref)
    if kind == InterventionKind.QUESTION:
        return asked.next_steps(number, ref, options, any_text=any_text)
    if kind in _OF_SESSIONS and ref.target is not None:
        if given is not None:
            return (given, *_of_session(kind, ref, stopped=False))
        return _of_session(kind, ref, stopped=stopped)
    usual = _of_step(kind, ref, by_hand=by_hand) if ref.step is not None else _of_task(kind, ref)
    known = given is None or any(_alike(given, each) for each in usual)
    proposed = () if given is None or known else (given,)
    if delivered:
        first, *others = usual
        return (*proposed, first, NextStep.of("delivery show", ref), *others)
    return (*proposed, *usual)


def _alike(one: Advice, other: Advice) -> bool:
    """Whether both say the same to a person, whatever their blanks are called."""
    if not (isinstance(one, NextStep) and isinstance(other, NextStep)):
        return one == other
    return _unnamed(one) == _unnamed(other)


def _unnamed(step: NextStep) -> tuple[object, ...]:
    given = (*step.arguments, *(option.value for option in step.options))
    names = tuple(option.name for option in step.options)
    return step.verb, names, tuple(None if isinstance(each, Blank) else each for each in given)


def _of_step(kind: str, ref: Ref, *, by_hand: bool) -> tuple[Advice, ...]:
    if kind == InterventionKind.PLAN or ref.target is None:
        return (
            NextStep.of("step revise", ref, file=Blank("subtasks.yaml")),
            _resume(ref),
            _cancel(ref),
        )
    revise = NextStep.of("step revise", ref, file=Blank("revision.yaml"))
    look = NextStep.of("bundle show", ref)
    show = NextStep.of("step show", ref)
    send = NextStep.of("bundle send", ref)
    now = () if by_hand else (NextStep.of("step revise", ref, now=True),)
    abandon = NextStep.of("step abandon", ref)
    match kind:
        case InterventionKind.HELD_BUNDLE:
            noted = NextStep.of(
                "bundle send", ref, note=Blank("WHAT ITS PLANNER SHOULD KNOW", text=True)
            )
            return (send, look, noted, revise, abandon, _cancel(ref))
        case InterventionKind.ESCALATION:
            ask = () if by_hand else (send,)
            return (revise, look, _report(ref), *ask, _resume(ref), abandon, _cancel(ref))
        case InterventionKind.REVISION:
            return (revise, look, *now, _resume(ref), abandon, _cancel(ref))
        case InterventionKind.ROLLBACK:
            return (show, _resume(ref), revise, *now, abandon, _cancel(ref))
        case InterventionKind.APPROVAL:  # opened without saying what it asks for
            return (_resume(ref), revise, show, *now, abandon, _cancel(ref))
        case InterventionKind.BLOCKED:
            return (revise, show, *now, abandon, _cancel(ref))
        case InterventionKind.SPENDING:
            return (revise, look, abandon, _cancel(ref))
    return (_resume(ref), revise, abandon, _cancel(ref))


def _of_session(kind: str, ref: Ref, *, stopped: bool) -> tuple[Advice, ...]:
    if kind == InterventionKind.CHECKPOINT:
        again = NextStep.of("checkpoint run", ref, apply=True)
        look = (NextStep.of("checkpoint show", ref),) if stopped else ()
        return (*look, again, NextStep.of("session status", ref), _cancel(ref))
    note = Blank("WHY, AND WHAT TO DO INSTEAD", text=True)
    return (
        NextStep.of("delivery show", ref),
        NextStep.of("accept run", ref, apply=True),
        NextStep.of("accept run", ref, reject=True, note=note, apply=True),
        NextStep.of("step abandon", ref),
        _cancel(ref),
    )


def _of_unknown(number: int, ref: Ref) -> tuple[Advice, ...]:
    return (
        NextStep.of("intervention show", f"I{number}"),
        NextStep.of("intervention answer", f"I{number}", ran=True),
        NextStep.of("intervention answer", f"I{number}", not_run=True),
        NextStep.of("intervention answer", f"I{number}", again=True),
        NextStep.of("step revise", ref, file=Blank("revision.yaml")),
        NextStep.of("step abandon", ref),
        _cancel(ref),
    )


def _of_forgotten(number: int, ref: Ref, *, adoptable: bool) -> tuple[Advice, ...]:
    adopt = NextStep.of("intervention answer", f"I{number}", adopt=True)
    return (
        NextStep.of("intervention show", f"I{number}"),
        *((adopt,) if adoptable else ()),
        NextStep.of("intervention answer", f"I{number}", discard=True),
        NextStep.of("step revise", ref, file=Blank("revision.yaml")),
        NextStep.of("step abandon", ref),
        NextStep.of("doctor"),
        _cancel(ref),
    )


def _of_approval(number: int, ref: Ref) -> tuple[Advice, ...]:
    return (
        NextStep.of("intervention show", f"I{number}"),
        NextStep.of("intervention approve", f"I{number}"),
        NextStep.of("intervention approve", f"I{number}", for_task=True),
        NextStep.of("intervention deny", f"I{number}", note=Blank("WHY", text=True)),
        NextStep.of("step revise", ref, file=Blank("revision.yaml")),
        NextStep.of("step abandon", ref),
        _cancel(ref),
    )


def _of_task(kind: str, ref: Ref) -> tuple[Advice, ...]:
    if kind == InterventionKind.PLAN_APPROVAL:
        approve = NextStep.of("plan approve", f"T{ref.task}")
        provide = NextStep.of("plan provide", f"T{ref.task}", file=Blank("plan.yaml"))
        return (
            NextStep.of("plan approve", f"T{ref.task}", list=True),
            approve,
            provide,
            _cancel(ref),
        )
    if kind == InterventionKind.PLAN:
        provide = NextStep.of("plan provide", f"T{ref.task}", file=Blank("plan.yaml"))
        return (provide, _resume(ref), _cancel(ref))
    return (_resume(ref), _cancel(ref))


def _report(ref: Ref) -> NextStep:
    return NextStep.of("task report", f"T{ref.task}")


def _resume(ref: Ref) -> NextStep:
    return NextStep.of("task resume", f"T{ref.task}")


def _cancel(ref: Ref) -> NextStep:
    return NextStep.of("task cancel", f"T{ref.task}")
