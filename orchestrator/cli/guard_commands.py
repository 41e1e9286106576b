"""`replan guard …`: one module for each of its commands."""

import typer

from orchestrator.cli import guard_check, guard_learning, guard_preview, guard_rules, guard_tests

group = typer.Typer(name="guard", no_args_is_help=True)

for module in (guard_check, guard_learning, guard_rules, guard_tests, guard_preview):
    module.register(group)
