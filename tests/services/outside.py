"""The proof of the documentation that a remote has what was checked, as others run it."""

import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "deliveries.md"


def script() -> str:
    """Exactly the text that people copy."""
    (found,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    return str(found)


def prove(
    remote: Path, branch: str, base: str, store: Path, public: str
) -> subprocess.CompletedProcess[str]:
    """Run it, without anything of replan's."""
    return subprocess.run(
        [sys.executable, "-I", "-c", script(), str(remote), branch, base, str(store), public],
        cwd=remote,
        capture_output=True,
        text=True,
        check=False,
    )
