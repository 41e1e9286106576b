"""The side that does."""
