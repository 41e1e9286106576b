"""All runners, by the names that plans give them."""

from collections.abc import Mapping
from typing import Final

from shared.domain.errors import Rejected
from workers.agents.runners.claude_code import ClaudeCode
from workers.agents.runners.codex import Codex
from workers.agents.runners.command import CommandRunner
from workers.agents.runners.port import Runner

COMMAND: Final = "command"
"""The runner that is any program: whoever names it gives its command line."""

RUNNERS: Final[Mapping[str, Runner]] = {runner.name: runner for runner in (ClaudeCode(), Codex())}
"""The runners that need no command line."""

NAMES: Final = (*RUNNERS, COMMAND)
"""What a plan may name."""


def find_runner(name: str, command: str | None = None) -> Runner:
    """The runner of that name; raises Rejected where there is none.

    The runner `command` needs a command line. For the others it is the program that starts them,
    which an order names (`AgentOrder.program`).
    """
    if name == COMMAND:
        if command is None:
            raise Rejected(
                "the runner `command` needs a command line: set `command`", stage="input"
            )
        return CommandRunner(name, command)
    if (found := RUNNERS.get(name)) is not None:
        return found
    raise Rejected(
        f"{name!r} is not the name of a runner; there are {', '.join(NAMES)}", stage="input"
    )
