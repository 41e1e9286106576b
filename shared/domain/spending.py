"""What models may cost."""

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from enum import StrEnum
from typing import Final

from shared.domain.config import LIMITS

SPENDING = "spending"
"""The stage of a call that is refused because a cap is reached or cannot be enforced."""

UNUSABLE = "unusable"
"""The error of a call whose answer was refused by our own rules."""

LEAST: Final = Decimal("0.00000001")
"""The smallest amount in dollars that a row can hold."""

MOST: Final = Decimal(str(LIMITS["agent_cost_budget"][1]))
"""The largest limit in dollars that may be set."""

AGENT = "agent"
"""The role and the purpose of a call that an agent makes through the gateway."""


class Cap(StrEnum):
    """What a call that may not be made would exceed."""

    BUDGET = "budget"  # of the agents of one subtask
    TASK = "task"
    DAY = "day"
    PRICE = "price"  # none: its price is not known, so no cap could be held


@dataclass(frozen=True, slots=True)
class CapReached:
    """Why a call to a model was not made; amounts in dollars.

    `spent` counts towards the `limit` of the cap, and `question` is what the question of that call
    alone is estimated to cost; all three are 0 for a price that is not known. `reason` is for
    people.
    """

    cap: Cap
    limit: Decimal
    spent: Decimal
    question: Decimal
    model: str
    reason: str = ""

    @property
    def needed(self) -> Decimal:
        """The least limit under which the call can be made."""
        return self.spent + self.question

    @property
    def enough(self) -> Decimal:
        """A limit that lets the work go on: twice as much, rounded up to whole cents.

        It is at most `MOST`, and 0 (no limit) where that is too little.
        """
        used_up = self.spent if self.spent >= self.limit else self.needed
        twice = (2 * max(self.limit, used_up)).quantize(Decimal("0.01"), ROUND_UP)
        proposed = min(twice, MOST)
        return proposed if self.is_met_by(proposed) else Decimal(0)

    def is_met_by(self, limit: Decimal) -> bool:
        """Whether the call can be made under another limit; 0 means no limit."""
        return limit == 0 or not is_spent(limit, self.spent, self.question)


@dataclass(frozen=True, slots=True)
class Unpaid:
    """The agent of the subtask of that number ended because its next call could not be paid."""

    subtask: int
    reached: CapReached


def is_spent(limit: Decimal, spent: Decimal, question: Decimal) -> bool:
    """Whether a limit leaves no room for a call whose question alone costs that much."""
    return spent >= limit or spent + question > limit


def exact(dollars: Decimal | float) -> str:
    """An amount with all its digits, and two at least: 0.001, 0.50."""
    whole, _, cents = f"{Decimal(str(dollars)).normalize():f}".partition(".")
    return f"{whole}.{cents:0<2}"
