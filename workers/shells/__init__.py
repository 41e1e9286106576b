"""Shells carry out subtasks of the kinds command and code."""
