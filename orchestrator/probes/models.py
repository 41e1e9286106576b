"""Repeating a stored question through a worker process: the orchestrator asks no model."""

import os
from pathlib import Path
from typing import Any

from orchestrator.probes.worker import WorkerCall, ask_worker

PATIENCE = 900.0
"""Seconds that a model may take."""


def replay_call(number: int, model: str, config_file: Path | None) -> dict[str, Any]:
    """Both answers to the question of that call. Raises what asking a model raises."""
    environ = dict(os.environ)
    if config_file is not None:
        environ["REPLAN_CONFIG"] = str(config_file)
    words = ("replay", str(number), "--model", model)
    return ask_worker(WorkerCall(words, model, "replay", PATIENCE), environ=environ)
