"""The exit codes: one table, and nobody who gives up ends with 0."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from shared.domain.errors import (
    Defect,
    Misconfigured,
    Rejected,
    ReplanError,
    Transient,
    Unavailable,
)
from shared.domain.exits import MEANINGS, ExitCode, code_of

ROOT: Final = Path(__file__).parents[3]

ENDS: Final = {
    # The command line and its processes: the code is a value of the table.
    "orchestrator/cli/main.py": {"sys.exit", "typer.Exit"},
    "orchestrator/cli/invocation.py": {"typer.Exit"},
    "workers/__main__.py": {"sys.exit"},
    "workers/wiring.py": {"os._exit"},
    "workers/process/liveness.py": {"os._exit"},
    # The process goes on as another program.
    "orchestrator/cli/worker_commands.py": {"os.execve"},
    "orchestrator/cli/gateway_commands.py": {"os.execve"},
    "orchestrator/embedded/tether.py": {"os.execvp", "os._exit", "sys.exit"},
    # What is in the background ends; whoever began it has been told why.
    "orchestrator/cli/stack_commands.py": {"SystemExit"},
    # The output is closed: nobody reads the answer of a command.
    "orchestrator/cli/terminal.py": {"SystemExit"},
    # Not of a process that works: the health check, what speaks with an agent on its host, Flower's
    # own settings.
    "workers/agents/runners/acp_client.py": {"sys.exit"},
    "shared/health.py": {"sys.exit"},
    "deploy/launcher/replan/__main__.py": {"sys.exit"},
    "deploy/flower/flower_options.py": {"sys.exit"},
    "deploy/flower/replan_flower.py": {"sys.exit"},
}
"""Every place that ends a process, and how; a new one must say what its supervisor sees."""

ENDING: Final = {"sys.exit", "os._exit", "SystemExit", "typer.Exit", "exit", "quit", "os.abort"}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Transient("x", stage="s"), ExitCode.UNREACHABLE),
        (Unavailable("x", stage="s"), ExitCode.UNREACHABLE),
        (Rejected("x", stage="s"), ExitCode.REFUSED),
        (Misconfigured("x", stage="s"), ExitCode.REFUSED),
        (Defect("x", stage="s"), ExitCode.FAILED),
    ],
)
def test_no_error_ends_with_0(error: ReplanError, code: ExitCode) -> None:
    assert code_of(error) is code
    assert code != 0


def test_the_documentation_shows_the_table() -> None:
    told = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
    assert set(MEANINGS) == set(ExitCode)
    for code, meaning in MEANINGS.items():
        assert f"| {code.value} | {meaning} |" in told


def test_every_place_that_ends_a_process_is_known() -> None:
    found: dict[str, set[str]] = {}
    for path in sources():
        for called in endings(path):
            found.setdefault(path.relative_to(ROOT).as_posix(), set()).add(called)
    assert found == ENDS


def test_nobody_ends_a_process_with_a_literal_0() -> None:
    for path in sources():
        if path.name == "tether.py":  # its watcher ends when what it watched has ended
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ENDING and node.args:
                assert ast.unparse(node.args[0]) != "0", path


def sources() -> Iterator[Path]:
    for side in ("orchestrator", "workers", "shared", "deploy"):
        yield from sorted((ROOT / side).rglob("*.py"))


def endings(path: Path) -> Iterator[str]:
    """What ends the process there, called or handed on to be called."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        called = node.func if isinstance(node, ast.Call) else node
        if not isinstance(called, ast.Attribute) and called is node:
            continue
        name = ast.unparse(called)
        if name in ENDING or name.startswith(("os.exec", "os.spawn")):
            yield name
