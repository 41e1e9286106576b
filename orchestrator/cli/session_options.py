"""Options that the commands about sessions share."""

from typing import Annotated

import typer

SessionArgument = Annotated[
    str, typer.Argument(metavar="REF", help="The session: T12, or T12@app of several.")
]
SessionOption = Annotated[
    str | None, typer.Option("--session", metavar="REF", help="Only those of this session.")
]
ProjectOption = Annotated[
    str | None, typer.Option("--project", metavar="NAME", help="Only those of this repository.")
]
ApplyOption = Annotated[
    bool,
    typer.Option("--apply/--dry-run", help="Do it; the default is to show what would be done."),
]
DryRunOption = Annotated[
    bool, typer.Option("--apply/--dry-run", help="With --dry-run, only show what would be done.")
]
