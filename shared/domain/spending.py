"""What models may cost."""

SPENDING = "spending"
"""The stage at which a call is refused because a cap is reached, or cannot be kept."""
