"""Policies: what is forbidden, what is allowed, what a person decides."""
