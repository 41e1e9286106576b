"""Asking a kept question again through a worker process: the orchestrator asks no model itself."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from shared.domain.errors import (
    Defect,
    Misconfigured,
    Rejected,
    ReplanError,
    Transient,
    Unavailable,
)

PATIENCE = 900.0
"""Seconds that a model may take."""

_FAMILIES: dict[str, type[ReplanError]] = {
    kind.family: kind for kind in (Transient, Unavailable, Misconfigured, Rejected)
}


def replayed(number: int, model: str, config_file: Path | None) -> dict[str, Any]:
    """Both answers to the question of that call. Raises what asking a model raises."""
    environ = dict(os.environ)
    if config_file is not None:
        environ["REPLAN_CONFIG"] = str(config_file)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "workers", "replay", str(number), "--model", model],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env=environ,
        )
    except subprocess.TimeoutExpired as error:
        reason = f"{model} gave no answer in {PATIENCE:.0f} s"
        raise Transient(reason, stage="replay") from error
    try:
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError) as error:
        raise Defect(f"the replay failed: {done.stderr[-500:]}", stage="replay") from error
    if "family" in answer:
        family = _FAMILIES.get(answer["family"], Misconfigured)
        raise family(answer["reason"], stage=answer["stage"], next_step_cmd=answer["next_step_cmd"])
    return answer
