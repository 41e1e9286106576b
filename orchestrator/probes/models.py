"""What only a worker process knows of models, and can ask them: the orchestrator asks none."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.probes.worker import WorkerCall, ask_worker

PATIENCE = 900.0
"""Seconds that a model may take."""

_LOOK = 60.0
"""Seconds that a look at the settings may take."""


def check_model(provider: str, environ: Mapping[str, str]) -> None:
    """Raise Misconfigured if workers with this environment could not ask the provider's model.

    Nothing is sent: it is about keys, addresses and libraries.
    """
    ask_worker(WorkerCall(("model-check", provider), provider, "model", _LOOK), environ=environ)


def replay_call(number: int, model: str, config_file: Path | None) -> dict[str, Any]:
    """Both answers to the question of that call. Raises what asking a model raises."""
    environ = dict(os.environ)
    if config_file is not None:
        environ["REPLAN_CONFIG"] = str(config_file)
    words = ("replay", str(number), "--model", model)
    return ask_worker(WorkerCall(words, model, "replay", PATIENCE), environ=environ)
