"""Secrets: named in plans, fetched where they are needed, and hidden in all that is told (X19)."""
