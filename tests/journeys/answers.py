"""What the CLI answers, held against its published schemas."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.services.schemas import validate

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
LAUNCHER = ROOT / "deploy/launcher/replan/__main__.py"
REPLAN = (sys.executable, "-P", str(LAUNCHER))


def accepted(line: str) -> dict[str, Any]:
    """One line of machine output, once its published schema has accepted it."""
    answer: dict[str, Any] = json.loads(line)
    validate(answer)
    return answer
