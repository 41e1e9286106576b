"""What models may cost."""

from decimal import Decimal

SPENDING = "spending"
"""The stage of a call that is refused because a cap is reached or cannot be enforced."""

UNUSABLE = "unusable"
"""The error of a call whose answer was refused by our own rules."""

AGENT = "agent"
"""The role and the purpose of a call that an agent makes through the gateway."""


def exact(dollars: Decimal | float) -> str:
    """An amount with all its digits, and two at least: 0.001, 0.50."""
    amount = Decimal(str(dollars))
    return f"{amount:.2f}" if amount == round(amount, 2) else f"{amount.normalize():f}"
