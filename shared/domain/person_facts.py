"""Facts about a pass that waits for a person: what the person says."""

from dataclasses import dataclass
from decimal import Decimal

from shared.domain.approval import Approval
from shared.domain.attempt import Answer
from shared.domain.records import RecordsAnswer


@dataclass(frozen=True, slots=True)
class OfPass:
    """What every fact about a pass begins with: which pass of which step it was."""

    step: int
    revision: int
    pass_no: int


@dataclass(frozen=True, slots=True)
class OutcomeTold(OfPass):
    """A person says how the command ended whose outcome was `unknown`."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class RecordsSettled(OfPass):
    """A person says whether records that the database does not know belong to the pass.

    `claims` are the tokens of the claims that they were made under; `newest` is the highest number
    of a pass among them.
    """

    intervention: int
    answer: RecordsAnswer
    claims: tuple[str, ...]
    newest: int
    settled_by: str


@dataclass(frozen=True, slots=True)
class SpendingAllowed(OfPass):
    """A person lets the agents of a step that could not pay a call spend more.

    `budget`, in dollars, is the new one of the `subtask`, and 0 for none; None where the person has
    raised the cap of the task or of the day.
    """

    allowed_by: str
    subtask: int = 0
    budget: Decimal | None = None


@dataclass(frozen=True, slots=True)
class CommandsApproved(OfPass):
    """A person approved the request of a pass, in the intervention of that number."""

    intervention: int
    approvals: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class ApprovalDenied(OfPass):
    """A person refused the request; `note` goes to the planner."""

    intervention: int
    denied_by: str
    note: str = ""
