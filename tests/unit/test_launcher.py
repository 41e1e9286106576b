"""How a process of replan begins and ends, before anything of its own is loaded."""

import json
import subprocess
import sys
from pathlib import Path

LAUNCHER = Path(__file__).parents[2] / "deploy/launcher/replan/__main__.py"

LOADING = """
import gc, json, runpy, sys
begun = runpy.run_path(sys.argv[1])
usual, collected = gc.get_threshold(), []
gc.callbacks.append(lambda phase, _: collected.append(phase))
begun["collect_after_loading"]()
modules = [[] for _ in range(begun["LOADED"] // 2)]
early = len(collected)
modules += [[] for _ in range(begun["LOADED"])]
print(json.dumps([early, len(collected) > 0, gc.get_threshold() == usual, gc.get_freeze_count()]))
"""


def test_nobody_looks_for_waste_until_modules_are_loaded_and_then_as_usual() -> None:
    words = [sys.executable, "-P", "-c", LOADING, str(LAUNCHER)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    early, collected, as_usual, spared = json.loads(done.stdout)
    assert (early, collected, as_usual) == (0, True, True)
    assert spared > 100_000, "what was loaded is looked through again and again"
