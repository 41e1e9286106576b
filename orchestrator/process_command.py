"""The command line of replan's own processes: one way to start them, wherever replan lies."""

import sys
from pathlib import Path
from typing import Final

HOME: Final = Path(__file__).resolve().parents[1]
"""The folder that holds replan's packages: in an installation `replan/`, else the checkout."""

_LAUNCHERS: Final = (HOME / "__main__.py", HOME / "deploy/launcher/replan/__main__.py")


def process_command(module: str, *words: str) -> tuple[str, ...]:
    """The program and the words that run `module` in a process of its own, as `python -m` would.

    The modules are those of this replan. Neither the current folder, nor another package that has
    a module of the same name, is looked at.
    """
    launcher = next(path for path in _LAUNCHERS if path.is_file())
    return (sys.executable, "-P", str(launcher), "-m", module, *words)
