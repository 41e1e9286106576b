"""Where every process of replan begins: its own modules stand first, whatever else is installed.

    replan …                       the command line
    python -m replan …             the same
    python -m replan -m MODULE …   as `python -m MODULE …`: a worker, the health check, Celery

Python looks for modules in the folder of the installed replan before all others, and never in the
folder that the process happens to be in.
"""

import gc
import runpy
import sys
from importlib import import_module
from pathlib import Path

PACKAGES = ("orchestrator", "workers", "shared")

LOADED = 200_000
"""So many objects are made by loading modules, which are no waste and stay until the end."""


def main() -> int:
    """The exit code of the command line, or of the module that `-m` names."""
    own_modules_first()
    collect_after_loading()
    try:
        if sys.argv[1:2] == ["-m"] and sys.argv[2:]:
            module = sys.argv[2]
            del sys.argv[1:3]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
            return 0
        code: int = import_module("orchestrator.cli.main").main()
        return code
    finally:
        gc.freeze()  # a process that ends looks through none of it once more


def collect_after_loading() -> None:
    """Collect waste for the first time once modules are loaded, and from then on as usual.

    Looking for waste among modules while they load, and when the process ends, would take a fourth
    of the time of a short command.
    """
    usual = gc.get_threshold()

    def collect_as_usual(phase: str, _: dict[str, int]) -> None:
        if phase == "stop":
            gc.callbacks.remove(collect_as_usual)
            gc.freeze()
            gc.set_threshold(*usual)

    gc.callbacks.append(collect_as_usual)
    gc.set_threshold(LOADED)


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
