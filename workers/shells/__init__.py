"""Shells: what carries out subtasks of the kinds command and code."""
