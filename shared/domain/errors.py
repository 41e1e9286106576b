"""Errors, sorted by who must act.

ReplanError ├─ Transient nobody: it is tried again later, and not counted as an error │ └─
Unavailable nobody: the other side is away or busy, and is waited for ├─ Rejected the planner:
counted, and part of the evidence ├─ Misconfigured the operator: the work waits until somebody has
put it right └─ Defect us: a broken promise of this program, with the events that led to it
"""

from shared.domain.next_step import Advice


class ReplanError(Exception):
    """What happened (`reason`), at which `stage`, and what to do next.

    Never raised itself: one of its families is.
    """

    family = "error"

    def __init__(self, reason: str, *, stage: str, next_step: Advice | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.stage = stage
        self.next_step = next_step


class Transient(ReplanError):
    """It will probably work later; `retry_after` is in seconds, if the other side named a time."""

    family = "transient"

    def __init__(
        self,
        reason: str,
        *,
        stage: str,
        next_step: Advice | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(reason, stage=stage, next_step=next_step)
        self.retry_after = retry_after


class Unavailable(Transient):
    """The other side is away or busy: we wait for it as long as it takes."""

    family = "unavailable"


class Rejected(ReplanError):
    """An answer or a plan that cannot be used as it is."""

    family = "rejected"


class Misconfigured(ReplanError):
    """Only the operator can put this right."""

    family = "misconfigured"


class Defect(ReplanError):
    """This program broke one of its promises; `story` holds the events before it, oldest first."""

    family = "defect"

    def __init__(
        self,
        reason: str,
        *,
        stage: str,
        next_step: Advice | None = None,
        story: tuple[str, ...] = (),
    ) -> None:
        super().__init__(reason, stage=stage, next_step=next_step)
        self.story = story

    def __str__(self) -> str:
        if not self.story:
            return self.reason
        return "\n  ".join((f"{self.reason}; what led to it:", *self.story))
