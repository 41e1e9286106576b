"""Branches that have diverged: both sides, and the ways out."""

from rich.console import Console

from orchestrator.cli.tables import next_step, plain
from orchestrator.words.checkpoints import divergence, recipes
from shared.domain.checkpoint import CheckpointReport
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep


def show_ways_out(
    console: Console, report: CheckpointReport, remote: str, branch: str, session: Ref
) -> bool:
    """Show both sides and each way out, with the checkpoint that ends it; tells if there is one."""
    for line in divergence(report, branch):
        console.print(plain(line), highlight=False)
    ways_out = recipes(report, remote, branch)
    for recipe in ways_out:
        console.print(f"\n{plain(recipe.what)}", highlight=False)
        for where, steps in (("on the host", recipe.on_host), ("in a clone", recipe.in_clone)):
            if steps:
                console.print(f"{where}:")
            for step in steps:
                next_step(console, step)
        console.print("then have it published:")
        next_step(console, NextStep.of("checkpoint run", session, apply=True))
    return bool(ways_out)
