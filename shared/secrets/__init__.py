"""Secrets: named in plans, fetched where they are needed, and masked in all output (X19)."""
