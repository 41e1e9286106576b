"""The plans that ship with replan, in `examples/`."""

import shlex
from pathlib import Path

from orchestrator.process_command import HOME


def example_plan(name: str, *, anywhere: bool = False) -> str:
    """The path of the shipped plan of that name, quoted for a command line typed in this folder.

    With `anywhere` the path works in every folder.
    """
    path = HOME / "examples" / name
    here = Path.cwd()
    near = path.is_relative_to(here) and not anywhere
    return shlex.quote(str(path.relative_to(here) if near else path))
