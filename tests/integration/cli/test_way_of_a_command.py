"""The way of one command, from the plan to the host and back: which files have it in hand.

A file has the command in hand if one of its functions holds that very string, or reads it from a
value. Everything else passes values on, and must not know what they hold.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import pytest

from tests.integration.cli.calling import Cli
from tests.services.ring import eventually

ROOT: Final = Path(__file__).parents[3]
SIDES: Final = ("orchestrator/", "workers/", "shared/")
COMMAND: Final = "false of-its-own-7261"
PLAN: Final = f"""
steps:
  - title: It fails once, and its planner gets the evidence
    planner: human
    subtasks:
      - command: {COMMAND}
"""

SUBMIT: Final = ("task", "submit", "--local", "--set", "error_threshold_per_step=1")

WAY: Final = frozenset(
    {
        "orchestrator/acts/plan_verdicts.py",
        "orchestrator/acts/typed_secrets.py",
        "shared/contracts/documents.py",
        "shared/contracts/fields.py",
        "shared/domain/folders.py",
        "shared/domain/pieces.py",
        "shared/domain/plan.py",
        "shared/domain/secret.py",
        "shared/guard/",
        "shared/secrets/expansion.py",
        "shared/secrets/masking.py",
        "shared/secrets/sent.py",
        "shared/store/attempts.py",
        "workers/evidence/causes.py",
        "workers/evidence/commands.py",
        "workers/evidence/hypotheses.py",
        "workers/evidence/named_in_commands.py",
        "workers/fixes/signature.py",
        "workers/llm/evidence.py",
        "workers/passes/approval_gate.py",
        "workers/passes/attempts.py",
        "workers/passes/means.py",
        "workers/passes/recorder.py",
        "workers/passes/subtasks.py",
        "workers/roles/escalation.py",
        "workers/secrets.py",
        "workers/shells/door.py",
        "workers/shells/means.py",
        "workers/shells/ports.py",
        "workers/shells/questions.py",
        "workers/shells/remote/results.py",
        "workers/shells/remote/runner_text.py",
        "workers/shells/remote/shell.py",
    }
)
"""Before a file joins them, ask whether it can pass the value on unread."""


@contextmanager
def watched() -> Iterator[set[str]]:
    """The files in which a function has the command in hand, as long as it lasts."""
    found: set[str] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event != "return" or not frame.f_code.co_filename.startswith(str(ROOT)):
            return
        file = Path(frame.f_code.co_filename).relative_to(ROOT).as_posix()
        if file.startswith(SIDES) and any(
            value == COMMAND or (reads and getattr(value, "command", None) == COMMAND)
            for reads in ["command" in frame.f_code.co_names]
            for value in frame.f_locals.values()
        ):
            found.add("shared/guard/" if file.startswith("shared/guard/") else file)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.mark.usefixtures("short_looks")
def test_few_files_have_a_command_in_hand(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The coordinator and the core are not among them."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    with watched() as found:
        replan: Cli = request.getfixturevalue("working")
        replan(*SUBMIT, "--plan", plan)
        eventually(lambda: replan.rows("SELECT id FROM bundles"), "a bundle")
    assert found == WAY
