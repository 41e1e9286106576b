"""What several commands of `replan guard` share."""

import typer

POLICY = typer.Option(
    help="A policy file to use instead of the one in the settings.", metavar="FILE"
)
PROFILE = typer.Option(
    "--profile", help="Under this profile instead of the host's (repeatable).", metavar="NAME"
)
COLOURS = {"allow": "green", "approve": "yellow", "deny": "red"}
