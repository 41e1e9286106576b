"""Sessions at any point of their story, told by the facts that brought them there."""

from dataclasses import dataclass
from typing import Any

from orchestrator.core.decisions import Decision
from shared.domain import facts as f
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.delivery import (
    Acceptance,
    CheckpointEnding,
    Judgement,
    Line,
    Published,
    Rejection,
)
from shared.domain.plan import Step
from tests.unit.core.given import Run, plan, step


def bundle(run: int, ordinal: int, pass_no: int) -> str:
    """The name of what that pass publishes."""
    return f"R{run}-{ordinal}-p{pass_no}"


def commit_of(head: str | None, delivery: str) -> str:
    """The commit of a delivery on a head: whoever makes it gets the same."""
    return f"{head or 'base'}+{delivery}"


def judged(line: Line, delivery: str) -> Judgement:
    """A judgement that accepts a delivery behind a line."""
    head = line.head
    for ahead in line.ahead:
        head = commit_of(head, ahead)
    commit = commit_of(head, delivery)
    return Judgement(commit, f"tree of {commit}")


RED = Judgement("c", "t", Rejection.CHECK, "a check was red")
CONFLICT = Judgement(None, None, Rejection.CONFLICT, "both changed a.py")


@dataclass
class Session(Run):
    """A run that delivers, and what was decided last."""

    def publishes(self, ordinal: int = 1, **said: Any) -> tuple[Decision, ...]:
        """The present pass of a step succeeds and has published."""
        at = self.step(ordinal)
        published = Published(bundle(1, ordinal, at.pass_no), **said)
        place = ordinal, at.revision, at.pass_no
        return self.tell(f.PassFinished(*place, Ending.DONE, 0, published=published))

    def acceptance(self, ordinal: int = 1) -> Acceptance:
        """How far the delivery of a step has come."""
        acceptance = self.step(ordinal).acceptance
        assert acceptance is not None, "nothing is on its way"
        return acceptance

    def delivery(self, ordinal: int = 1) -> tuple[int, int, int, str]:
        """What every fact about the delivery of a step begins with."""
        at = self.step(ordinal)
        return ordinal, at.revision, at.pass_no, self.acceptance(ordinal).published.delivery

    def judgement(self, ordinal: int = 1, judgement: Judgement | None = None) -> f.DeliveryJudged:
        """The fact that the delivery of a step is judged: green, unless said otherwise."""
        acceptance = self.acceptance(ordinal)
        if judgement is None:
            assert acceptance.line is not None, "nobody was asked"
            judgement = judged(acceptance.line, acceptance.published.delivery)
        return f.DeliveryJudged(*self.delivery(ordinal), acceptance.turn, judgement)

    def is_judged(
        self, ordinal: int = 1, judgement: Judgement | None = None
    ) -> tuple[Decision, ...]:
        """The delivery of a step is judged: green, unless said otherwise."""
        return self.tell(self.judgement(ordinal, judgement))

    def is_reviewed(self, ordinal: int = 1, *, approved: bool = True) -> tuple[Decision, ...]:
        """A reviewer approves the delivery of a step, or not."""
        why = "" if approved else "no tests"
        return self.tell(f.DeliveryReviewed(*self.delivery(ordinal), approved, "model", why))

    def is_allowed(self, ordinal: int = 1) -> tuple[Decision, ...]:
        """A person accepts the delivery of a step."""
        return self.tell(f.DeliveryAllowed(*self.delivery(ordinal), 7, "ann"))

    def is_rejected(self, ordinal: int = 1) -> tuple[Decision, ...]:
        """A person rejects the delivery of a step."""
        return self.tell(f.DeliveryRejected(*self.delivery(ordinal), 7, "ann", "not like this"))

    def is_accepted(self, ordinal: int = 1, **said: Any) -> tuple[Decision, ...]:
        """A step publishes, and its delivery is accepted."""
        self.publishes(ordinal, **said)
        return self.is_judged(ordinal)

    def checkpoint(
        self, ending: CheckpointEnding = CheckpointEnding.COMPLETE, accepted: int | None = None
    ) -> f.CheckpointFinished:
        """The fact that the checkpoint under way has ended."""
        number = self.state.accepted if accepted is None else accepted
        head = self.state.head
        assert head is not None, "there is nothing to publish"
        return f.CheckpointFinished(self.state.checkpoint.number, number, head, ending, "so")

    def checkpoint_ends(
        self, ending: CheckpointEnding = CheckpointEnding.COMPLETE, accepted: int | None = None
    ) -> tuple[Decision, ...]:
        """The checkpoint under way ends."""
        return self.tell(self.checkpoint(ending, accepted))


def session(*steps: Step, **policy: Any) -> Session:
    """A session that has just begun these steps (one, unless given) under this policy."""
    run = Session()
    run.tell(f.RunStarted(Policy(**({"deliver": True} | policy)), plan(*(steps or (step(),)))))
    return run


def shown_to_a_person() -> Session:
    """A session in which a person is to accept a delivery."""
    run = session()
    run.publishes(allowed=True, why="it changes the hooks")
    run.is_judged()
    return run


def refused_by_the_remote() -> Session:
    """A session whose checkpoint the remote did not take."""
    run = session()
    run.is_accepted()
    run.checkpoint_ends(CheckpointEnding.REFUSED)
    return run
