"""All runners, by the names that plans give them."""

from collections.abc import Callable, Mapping
from typing import Final

from shared.domain.errors import Rejected, Transient
from shared.domain.next_step import NextStep
from workers.agents.runners.acp import AcpRunner
from workers.agents.runners.claude_code import ClaudeCode
from workers.agents.runners.codex import Codex
from workers.agents.runners.command import CommandRunner
from workers.agents.runners.mini_swe_agent import MiniSweAgent
from workers.agents.runners.port import Runner

RUNNERS: Final[Mapping[str, Runner]] = {
    runner.name: runner for runner in (ClaudeCode(), Codex(), MiniSweAgent())
}
"""The runners that are one program. A command line may start it (`AgentOrder.program`)."""

COMMAND: Final = "command"

ANY_PROGRAM: Final[Mapping[str, Callable[[str, str], Runner]]] = {
    "acp": AcpRunner,
    COMMAND: CommandRunner,
}
"""The runners that are any program: a plan names its command line."""

NAMES: Final = (*RUNNERS, *ANY_PROGRAM)
"""What a plan may name."""


def find_runner(name: str, command: str | None = None) -> Runner:
    """The runner of that name, with its command line if it is any program.

    Raises Transient where this worker has no such runner: submission takes known names only, so
    the plan comes from a newer replan, and another worker may have it. Raises Rejected where the
    command line is missing.
    """
    if (found := RUNNERS.get(name)) is not None:
        return found
    if (make := ANY_PROGRAM.get(name)) is None:
        raise Transient(
            f"this worker does not know the runner {name!r}, only {', '.join(NAMES)}: update it",
            stage="execute",
            next_step=NextStep.of("worker start", "executor"),
        )
    if command is None:
        raise Rejected(f"the runner {name!r} needs a command line: set `command`", stage="input")
    return make(name, command)
