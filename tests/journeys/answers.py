"""What the CLI answers, held against its published schemas."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.services.schemas import validate

EXAMPLES = Path(__file__).parents[2] / "examples"
REPLAN = (sys.executable, "-m", "orchestrator.cli.main")


def accepted(line: str) -> dict[str, Any]:
    """One line of machine output, once its published schema has accepted it."""
    answer: dict[str, Any] = json.loads(line)
    validate(answer)
    return answer
