"""Why a delivery of a step was rejected, as its author and people read it."""

from dataclasses import dataclass

from shared.domain.delivery import Rejection

_KINDS = {
    Rejection.GATE: "A rule for deliveries refused it",
    Rejection.CONFLICT: "It cannot be merged with what was accepted meanwhile",
    Rejection.CHECK: "A check was red on the tree that would have been published",
    Rejection.REVIEWER: "A reviewer did not approve it",
    Rejection.PERSON: "A person rejected it",
}


@dataclass(frozen=True, slots=True)
class RejectedDelivery:
    """Why the delivery of pass `pass_no` was rejected (S3.40).

    `rejected_by` is the reviewer or the person, empty where no one has decided: a gate, a conflict,
    a check. `comments` are a reviewer's, each one thing to put right. `output` is the end of what
    the red checks have printed, `conflicts` are the files that could not be merged.
    """

    pass_no: int
    rejection: Rejection
    reason: str = ""
    rejected_by: str = ""
    comments: tuple[str, ...] = ()
    output: str = ""
    conflicts: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The whole of it, as one text of a rejection history."""
        who = f" ({self.rejected_by})" if self.rejected_by else ""
        first = f"{_KINDS[self.rejection]}{who}"
        lines = [f"{first}: {self.reason}" if self.reason else f"{first}."]
        if self.conflicts:
            lines.append(f"Files with conflicts: {', '.join(self.conflicts)}")
        lines += [f"- {comment}" for comment in self.comments]
        if self.output:
            lines.append(f"The end of what the checks printed:\n{self.output}")
        return "\n".join(lines)
