"""The option of commands that change nothing until they are told to (S2.65, X9)."""

from typing import Annotated

import typer

ApplyOption = Annotated[
    bool,
    typer.Option("--apply/--dry-run", help="Do it; otherwise only show what it would do."),
]
"""False, the default, shows; commands that repair, delete, integrate or publish take it (X9)."""
