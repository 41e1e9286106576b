"""Coding agents carry out subtasks of the kind agent: runners, and how we watch them."""
