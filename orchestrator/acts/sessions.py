"""What a person may do with a session: open it, close it, have it published."""

from dataclasses import dataclass

from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.post import post
from orchestrator.acts.submission import Submission, submit_typed
from orchestrator.acts.verbs import act
from orchestrator.views.places import RunPlace
from orchestrator.views.sessions import SessionView, require_session, session_view
from orchestrator.views.values import RefValue
from shared.domain.delivery_facts import CheckpointRequested, SessionClosed
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.plan import Plan
from shared.store import repositories

_DELIVERS = "deliver=true"


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session that was opened, or that would be (`applied` is false, `ref` None)."""

    ref: RefValue | None
    repository: str
    goal: str
    applied: bool


@dataclass(frozen=True, slots=True)
class CheckpointPlan:
    """What a checkpoint publishes: the `head` of a session with so many accepted deliveries.

    `unpublished` of them are on no remote yet. `applied` says that it was asked for.
    """

    ref: RefValue
    head: str | None
    accepted: int
    unpublished: int
    applied: bool


@act("session.open")
def open_session(
    caller: Caller, repository: str, goal: str = "", *, apply: bool = True
) -> Done[OpenedSession]:
    """Open a session in a repository, without steps: it stays open until a person closes it.

    Without `apply`, nothing is written. Raises Rejected for an unknown repository.
    """
    with caller.database.begin() as connection:
        known = repositories.get(connection, repository)
    said = goal.strip() or f"work in {known.name}"
    if not apply:
        return Done(OpenedSession(None, known.name, said, applied=False))
    policy = caller.settings.with_agent([_DELIVERS]).agent
    given = Submission(said, (known.name,), policy, Plan(()), verb="session.open")
    ref = Ref(submit_typed(caller, given), target=known.name)
    return Done(OpenedSession(ref, known.name, said, applied=True))


@act("session.close")
def close(caller: Caller, ref: Ref, *, apply: bool = True) -> Done[SessionView]:
    """Close a session that is held open: it ends with its last step.

    Without `apply`, nothing is written. Raises Rejected for what is not an open session.
    """
    place, view = _session(caller, ref)
    if not view.session.held_open:
        raise Rejected(
            f"{place.ref} is not held open: it ends with its last step",
            stage="input",
            next_step=NextStep.of("session status", place.ref),
        )
    if not apply:
        return Done(view)
    entry = Act("session.close", str(place.ref))
    fact = SessionClosed(caller.actor.name)
    taken = post(caller, entry, [(place.task_id, place.run_id, fact)])
    return Done(_session(caller, ref)[1], taken)


@act("checkpoint.run")
def publish(caller: Caller, ref: Ref, *, apply: bool = False) -> Done[CheckpointPlan]:
    """Have what a session accepted published now, or tried again; without `apply`, only say what.

    Raises Rejected when nothing is accepted that is not on the remote already.
    """
    place, view = _session(caller, ref)
    session = view.session
    unpublished = view.steps.get("accepted", 0)
    if not unpublished:
        raise Rejected(
            f"{place.ref} has nothing to publish: no delivery was accepted since its last "
            "checkpoint",
            stage="input",
            next_step=NextStep.of("session status", place.ref),
        )
    said = CheckpointPlan(place.ref, session.head, session.accepted, unpublished, applied=apply)
    if not apply:
        return Done(said)
    entry = Act("checkpoint.run", str(place.ref), {"head": session.head})
    fact = CheckpointRequested(caller.actor.name)
    return Done(said, post(caller, entry, [(place.task_id, place.run_id, fact)]))


def _session(caller: Caller, ref: Ref) -> tuple[RunPlace, SessionView]:
    with caller.database.begin() as connection:
        place = require_session(connection, ref)
        return place, session_view(connection, place)
