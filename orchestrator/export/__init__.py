"""Exports of a finished task."""
