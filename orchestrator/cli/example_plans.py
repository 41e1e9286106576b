"""The plans that come with replan, in `examples/`."""

import shlex
from pathlib import Path

from orchestrator.process_command import HOME


def example_plan(name: str) -> str:
    """How the shipped plan of that name is written on a command line that is typed here."""
    path = HOME / "examples" / name
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
