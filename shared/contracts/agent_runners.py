"""How a file of tasks says that a runner is started (S4.12–S4.14, S4.16)."""

import shlex
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from shared.contracts.complaints import Document, unknown
from shared.contracts.fields import Text
from shared.domain.agent import COMMAND_RUNNER, NEEDS_COMMAND, RUNNERS


def _splits(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        raise PydanticCustomError("program", "{given} is not a command", {"given": repr(command)})
    return command


def _known(name: str) -> str:
    if name not in RUNNERS:
        raise PydanticCustomError(
            "unknown_runner", "{told}", {"told": f"{name!r} is {unknown(name, RUNNERS)}"}
        )
    return name


class AutonomousMode(Document):
    """What a runner is told about work without a person (S4.13)."""

    enabled: bool = False
    prepend_protocol: bool = False
    protocol_file: Annotated[
        Text | None,
        Field(min_length=1, description="The text; replan's own if left out."),
    ] = None


class RunnerDefinition(Document):
    """A runner, by the name that tasks use."""

    type: Annotated[
        Annotated[str, AfterValidator(_known)] | None,
        Field(description="Which of the known runners it is; its name, or `command`, if left out."),
    ] = None
    command: Annotated[
        Annotated[Text, AfterValidator(_splits)] | None,
        Field(
            description="The program that starts it; for `acp` and `command` the whole command. In "
            "that of `command`, {task_file} stands for its task, or `--task FILE` is added."
        ),
    ] = None
    autonomous_mode: AutonomousMode = Field(default_factory=AutonomousMode)

    @property
    def gives_protocol(self) -> bool:
        """Whether an autonomous agent gets a protocol (S4.16)."""
        return self.autonomous_mode.enabled and self.autonomous_mode.prepend_protocol

    @property
    def protocol_file(self) -> str | None:
        """The file of the protocol that it gets, None for none or for replan's own."""
        return self.autonomous_mode.protocol_file if self.gives_protocol else None

    def runner(self, name: str) -> str:
        """Which of the known runners it is."""
        return self.type or (name if name in RUNNERS else COMMAND_RUNNER)

    def program(self, name: str) -> str | None:
        """What starts it, None for its usual program.

        Others are started with replan's own options, so only the program counts.
        """
        if self.command is None or self.runner(name) in NEEDS_COMMAND:
            return self.command
        program, *_ = shlex.split(self.command)
        return None if program == self.runner(name) else program

    def notes(self, name: str) -> Iterator[str]:
        """What a person should know about it."""
        runner = self.runner(name)
        if self.command is not None and runner not in NEEDS_COMMAND:
            _, *options = shlex.split(self.command)
            if options:
                yield (
                    f"runners.{name}.command: replan starts {runner} with options of its own, "
                    f"without `{shlex.join(options)}`"
                )
        mode = self.autonomous_mode
        if mode.protocol_file is not None and not self.gives_protocol:
            yield (
                f"runners.{name}.autonomous_mode: its protocol_file is not used, because enabled "
                "and prepend_protocol are not both true"
            )
