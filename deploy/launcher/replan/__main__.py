"""Where every process of replan begins: its own modules stand first, whatever else is installed.

    replan …                       the command line
    python -m replan …             the same
    python -m replan -m MODULE …   as `python -m MODULE …`: a worker, the health check, Celery

Python looks for modules in the folder of the installed replan before all others, and never in the
folder that the process happens to be in.
"""

import runpy
import sys
from importlib import import_module
from pathlib import Path

PACKAGES = ("orchestrator", "workers", "shared")


def main() -> int:
    """The exit code of the command line, or of the module that `-m` names."""
    own_modules_first()
    if sys.argv[1:2] == ["-m"] and sys.argv[2:]:
        module = sys.argv[2]
        del sys.argv[1:3]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        return 0
    code: int = import_module("orchestrator.cli.main").main()
    return code


def own_modules_first() -> None:
    """Put the folder that holds replan's packages before all others on the path."""
    folder = str(own_folder())
    found_first = sys.path if sys.flags.safe_path else sys.path[1:]  # of the script, or the current
    sys.path[:] = [folder, *(entry for entry in found_first if entry != folder)]


def own_folder() -> Path:
    """The folder of this file where it was installed; the top of the checkout where it is one."""
    here = Path(__file__).resolve().parent
    return here if (here / PACKAGES[0]).is_dir() else here.parents[2]


if __name__ == "__main__":
    sys.exit(main())
