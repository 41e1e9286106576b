"""What models may cost."""

SPENDING = "spending"
"""The stage of a call that is refused because a cap is reached or cannot be enforced."""
