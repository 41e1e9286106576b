"""The side that decides."""
