"""The answer of a command: one result, shown to a person or as JSON (S2.39)."""

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from rich.console import Console
from rich.text import Text

from orchestrator import envelope
from orchestrator.envelope import Envelope
from shared.domain.errors import Defect, ReplanError
from shared.domain.exits import ExitCode
from shared.domain.next_step import Advice, ShellCommand, command_line
from shared.visible import can_write_all


class Format(StrEnum):
    """The format of an answer."""

    HUMAN = "human"
    MIN_JSON = "min-json"
    JSONL = "jsonl"


def _nothing(_console: Console) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of a command; `details` is a value that becomes a JSON object.

    `show` prints it for a person. `jsonl` writes the `items`, one per line, instead of the whole.
    """

    kind: str
    details: Any = None
    show: Callable[[Console], None] = _nothing
    items: Sequence[Any] | None = None
    exit_code: ExitCode = ExitCode.DONE
    stage: str | None = None
    reason: str | None = None
    next_step: Advice | None = None
    warnings: tuple[str, ...] = field(default=())

    def envelope(self, kind: str | None = None, details: Any = None) -> Envelope:
        """The envelope of S2.39; `kind` and `details` replace those of the result."""
        return Envelope(
            kind=kind or self.kind,
            code=self.exit_code,
            stage=self.stage,
            reason=self.reason,
            next_step=self.next_step,
            details=self.details if details is None else details,
        )


def of_error(kind: str, error: ReplanError) -> Result:
    """The answer for an error."""
    told = envelope.of_error(kind, error)
    if error.next_step is None and isinstance(error, Defect):
        again = ShellCommand("REPLAN_TRACEBACK=1 " + shlex.join(["replan", *sys.argv[1:]]))
        told = replace(told, next_step=again)
    return Result(
        kind=kind,
        exit_code=told.code,
        stage=told.stage,
        reason=told.reason,
        next_step=told.next_step,
        show=lambda console: _complain(console, told),
    )


def write(result: Result, output: Format, console: Console, complaints: Console) -> None:
    """Write the answer in the requested format."""
    match output:
        case Format.MIN_JSON:
            write_line(console, result.envelope())
        case Format.JSONL if result.items is not None and result.exit_code is ExitCode.DONE:
            for item in result.items:
                write_line(console, result.envelope(f"{result.kind.partition('.')[0]}.line", item))
        case Format.JSONL:
            write_line(console, result.envelope())
        case Format.HUMAN:
            refused = result.exit_code in {ExitCode.REFUSED, ExitCode.UNREACHABLE}
            result.show(complaints if refused else console)
            for warning in result.warnings:
                complaints.print(Text.assemble(("note: ", "yellow"), warning))


def write_line(console: Console, answer: Envelope) -> None:
    """Write one answer as a line of JSON."""
    text = json.dumps(answer.to_json(), ensure_ascii=not can_write_all(console.file))
    console.out(text, highlight=False)


def _complain(console: Console, answer: Envelope) -> None:
    console.print(Text.assemble(("✗ ", "red"), answer.reason or ""))
    console.print(Text(f"  at stage: {answer.stage}"))
    console.print(Text.assemble("  next: ", (command_line(answer.next_step) or "", "bold")))
