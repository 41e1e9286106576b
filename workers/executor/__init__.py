"""Carrying out a pass on a host, and what is learned from it."""
