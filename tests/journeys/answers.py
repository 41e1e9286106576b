"""What the CLI answers, held against its published schemas."""

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema

from orchestrator.cli.schemas import schema_of

EXAMPLES = Path(__file__).parents[2] / "examples"
REPLAN = (sys.executable, "-m", "orchestrator.cli.main")


def accepted(line: str) -> dict[str, Any]:
    """One line of machine output, once its published schema has accepted it."""
    answer: dict[str, Any] = json.loads(line)
    jsonschema.validate(answer, schema_of(answer["kind"]))
    return answer
