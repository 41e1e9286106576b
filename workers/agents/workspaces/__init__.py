"""Workspaces: where agents work on a host, and how their work is kept."""
