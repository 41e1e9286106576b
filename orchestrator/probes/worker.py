"""Asking a worker process: the orchestrator talks to no host and no model."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.process_command import process_command
from shared.domain.errors import (
    Defect,
    Misconfigured,
    Rejected,
    ReplanError,
    Transient,
    Unavailable,
)
from shared.wire import decode_next_step

_FAMILIES: dict[str, type[ReplanError]] = {
    kind.family: kind for kind in (Transient, Unavailable, Misconfigured, Rejected)
}


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """A call of `python -m workers`: its words, and its time limit `patience` in seconds.

    `who` is the host or model that is asked in the end, `stage` that of a failure.
    """

    words: Sequence[str]
    who: str
    stage: str
    patience: float


def run_worker(
    words: Sequence[str], given: str, patience: float, environ: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    """Run a worker process with these words and this input. Raises TimeoutExpired."""
    return subprocess.run(
        process_command("workers", *words),
        input=given,
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
        env=environ,
    )


def ask_worker(
    wanted: WorkerCall, given: str = "", environ: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The answer; `given` goes to standard input. Raises the worker's error, or Transient."""
    try:
        done = run_worker(wanted.words, given, wanted.patience, environ)
    except subprocess.TimeoutExpired as error:
        reason = f"{wanted.who} gave no answer in {wanted.patience:.0f} s"
        raise Transient(reason, stage=wanted.stage) from error
    try:
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError) as error:
        told = f"asking {wanted.who} failed: {done.stderr[-500:]}"
        raise Defect(told, stage=wanted.words[0]) from error
    if "family" in answer:
        family = _FAMILIES.get(answer["family"], Misconfigured)
        next_step = decode_next_step(answer["next_step"])
        raise family(answer["reason"], stage=answer["stage"], next_step=next_step)
    return answer
