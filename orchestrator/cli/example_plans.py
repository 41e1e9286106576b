"""The plans that come with replan, in `examples/`."""

import shlex
from pathlib import Path

from orchestrator.process_command import HOME


def example_plan(name: str, *, anywhere: bool = False) -> str:
    """How the shipped plan of that name is written on a command line that is typed here.

    With `anywhere` the line serves in every folder.
    """
    path = HOME / "examples" / name
    here = Path.cwd()
    near = path.is_relative_to(here) and not anywhere
    return shlex.quote(str(path.relative_to(here) if near else path))
