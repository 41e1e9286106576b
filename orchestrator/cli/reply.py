"""What a command answers: one result, shown to a person or as JSON (S2.39)."""

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Any

from rich.console import Console
from rich.text import Text

from shared.domain.errors import ReplanError, Transient
from shared.wire import to_json

SCHEMA_VERSION = 1


class Format(StrEnum):
    """How an answer is written."""

    HUMAN = "human"
    MIN_JSON = "min-json"
    JSONL = "jsonl"


class ExitCode(IntEnum):
    """What the exit code of every command means."""

    DONE = 0
    FAILED = 1
    REFUSED = 2
    WAITING = 3
    UNREACHABLE = 4


def _nothing(_console: Console) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of a command; `details` is a value that becomes a JSON object.

    `show` writes it for a person. `items` are what `jsonl` writes one a line instead of the whole.
    """

    kind: str
    details: Any = None
    show: Callable[[Console], None] = _nothing
    items: Sequence[Any] | None = None
    exit_code: ExitCode = ExitCode.DONE
    stage: str | None = None
    reason: str | None = None
    next_step_cmd: str | None = None
    warnings: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """True when what was asked for is so."""
        return self.exit_code is ExitCode.DONE


def of_error(kind: str, error: ReplanError) -> Result:
    """The answer for what could not be done."""
    match error:
        case Transient():
            code = ExitCode.UNREACHABLE
        case _ if error.family == "defect":
            code = ExitCode.FAILED
        case _:
            code = ExitCode.REFUSED
    command = error.next_step_cmd or _usual(kind, error)
    return Result(
        kind=kind,
        exit_code=code,
        stage=error.stage,
        reason=str(error),
        next_step_cmd=command,
        show=lambda console: _complain(console, error, command),
    )


def _usual(kind: str, error: ReplanError) -> str:
    """What can be typed when the cause proposed nothing."""
    if error.family == "defect":
        return "REPLAN_TRACEBACK=1 " + shlex.join(["replan", *sys.argv[1:]])
    return f"replan {kind.replace('.', ' ')} --help"


def envelope(result: Result, details: Any = None) -> dict[str, Any]:
    """The one JSON object of `min-json`; `details` stands in for those of the result."""
    shown = result.details if details is None else details
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": result.kind,
        "ok": result.ok,
        "stage": result.stage,
        "reason": result.reason,
        "next_step_cmd": result.next_step_cmd,
        "details": None if shown is None else to_json(shown),
    }


def write(result: Result, output: Format, console: Console, complaints: Console) -> None:
    """Write the answer in the wanted way."""
    match output:
        case Format.MIN_JSON:
            _line(console, envelope(result))
        case Format.JSONL if result.items is not None and result.ok:
            one = replace(result, kind=result.kind.partition(".")[0] + ".line")
            for item in result.items:
                _line(console, envelope(one, item))
        case Format.JSONL:
            _line(console, envelope(result))
        case Format.HUMAN:
            refused = result.exit_code in {ExitCode.REFUSED, ExitCode.UNREACHABLE}
            result.show(complaints if refused else console)
            for warning in result.warnings:
                complaints.print(Text.assemble(("note: ", "yellow"), warning))


def _line(console: Console, value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    print(text, file=console.file, flush=True)


def _complain(console: Console, error: ReplanError, command: str) -> None:
    console.print(Text.assemble(("✗ ", "red"), str(error)))
    console.print(Text(f"  at stage: {error.stage}"))
    console.print(Text.assemble("  next: ", (command, "bold")))
