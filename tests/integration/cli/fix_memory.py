"""A memory of fixes that is taught: a step that fails, and a model that puts it right."""

from pathlib import Path
from typing import Any

import yaml

from tests.fakes.model_server import ModelServer, Says
from tests.integration.cli.calling import Cli
from tests.unit.planning.given import revision_answer, subtask_answer

QUICK = ("--set", "error_threshold_per_step=1", "--set", "auto_correction_enabled=false")


def needing(state: Path) -> str:
    return f"grep -q ready {state} && grep -q good {state.parent}/kind"


def submit(cli: Cli, folder: Path, *more: object, code: int = 0) -> str:
    """A task whose one step needs something in that folder that is not there; its reference."""
    folder.mkdir(exist_ok=True)
    if not (folder / "kind").exists():
        (folder / "kind").write_text("good\n")
    plan = folder / "plan.yaml"
    subtasks = [
        {"run": f"touch {folder}/before"},
        {"run": needing(folder / "state")},
        {"run": f"touch {folder}/after"},
    ]
    steps = [{"title": "s", "planner": "anthropic", "subtasks": subtasks}]
    plan.write_text(yaml.safe_dump({"steps": steps}))
    given = more or ("--local",)
    answer = cli.json("task", "submit", "--plan", plan, "--wait", *given, *QUICK, code=code)
    return str(answer["details"]["ref"])


def revision(folder: Path, *making: str) -> Says:
    """What the model answers: the same step, with something done before what failed."""
    state = folder / "state"
    fix = [subtask_answer(f"make{n}", command) for n, command in enumerate(making, 1)]
    return Says(
        revision_answer(
            subtask_answer("before", f"touch {folder}/before"),
            *fix,
            subtask_answer("look", needing(state), needs=["make1"]),
            subtask_answer("after", f"touch {folder}/after", needs=["look"]),
        )
    )


def learn(cli: Cli, model: ModelServer, folder: Path, *more: str) -> str:
    """Have a model put the step right once."""
    model.will(revision(folder, f"echo ready >> {folder}/state"))
    return submit(cli, folder, *(more or ("--local",)))


def fixes(cli: Cli, *more: str) -> list[Any]:
    found: list[Any] = cli.json("fix", "list", *more)["details"]["fixes"]
    return found
