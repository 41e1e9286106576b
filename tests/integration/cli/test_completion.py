"""The Tab key, in a shell that finds replan as README has it: the environment is activated."""

import os
import subprocess
import sysconfig
from pathlib import Path

from tests.services.shells import shell_for_tests

TYPED = """
eval "$(replan --show-completion)"
COMP_WORDS=(replan task su)
COMP_CWORD=2
_replan_completion replan
printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_tab_completes_the_verbs_in_any_folder(tmp_path: Path) -> None:
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [shell_for_tests("bash"), "-c", TYPED],
        cwd=tmp_path,
        env={"PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "submit\n", "")
