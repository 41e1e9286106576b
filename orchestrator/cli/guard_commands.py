"""`replan guard …`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import ExitCode, Format, Result
from orchestrator.cli.tables import plain
from shared.domain.errors import Rejected
from shared.domain.verdict import Verdict

group = typer.Typer(name="guard", no_args_is_help=True)

Judge = Callable[[str, str], Verdict]

COLOURS = {"allow": "green", "approve": "yellow", "deny": "red"}


@add(group, "check", example="replan guard check 'sudo rm -rf /'")
def check(
    call: Invocation,
    command: Annotated[str | None, typer.Argument(help="A shell command.")] = None,
    *,
    file: Annotated[
        Path | None, typer.Option(help='Many of them, one {"id", "cmd"} a line.')
    ] = None,
    interpreter: Annotated[str, typer.Option(help="The shell that would run it.")] = "sh",
) -> Result:
    """Whether the guard would let a command run, and why; nothing is run."""
    from shared.guard import Guard, default_entries

    guard = Guard((*default_entries(), *call.settings.agent.forbidden_commands))
    if file is not None:
        return _many(call, guard.judge, file, interpreter)
    if command is None:
        raise Rejected(
            "say a command, or --file FILE",
            stage="input",
            next_step_cmd="replan guard check --help",
        )
    verdict = guard.judge(command, interpreter)

    def show(console: Console) -> None:
        kind = verdict.kind.value
        console.print(f"[{COLOURS[kind]}]{kind}[/] {plain(verdict.reason)}", highlight=False)
        if verdict.rule:
            console.print(f"  rule: {plain(verdict.rule)}", highlight=False)
        if verdict.part:
            console.print(f"  at:   {plain(verdict.part)}", highlight=False)

    refused = not verdict.allowed
    return Result(
        "guard.check",
        _told(verdict) | {"command": command},
        show,
        exit_code=ExitCode.FAILED if refused else ExitCode.DONE,
        stage="guard" if refused else None,
        reason=verdict.reason if refused else None,
        next_step_cmd="replan config show forbidden_commands" if refused else None,
    )


def _many(call: Invocation, judge: Judge, file: Path, interpreter: str) -> Result:
    rows = []
    for number, line in enumerate(_lines(file), start=1):
        try:
            asked = json.loads(line)
            row_id, text = asked["id"], asked["cmd"]
            if not isinstance(text, str):
                raise TypeError(f"cmd is no text but {text!r}")
        except (ValueError, KeyError, TypeError) as error:
            raise Rejected(
                f'{file}:{number} is no {{"id", "cmd"}}: {error}', stage="input"
            ) from error
        rows.append({"id": row_id, **_told(judge(text, interpreter))})
    if call.output is Format.JSONL:
        for row in rows:
            print(json.dumps(row), file=call.console.file)
        return Result("guard.check", items=())

    def show(console: Console) -> None:
        for row in rows:
            console.print(
                f"{row['id']} [{COLOURS[row['verdict']]}]{row['verdict']}[/] {plain(row['reason'])}"
            )

    return Result("guard.check", {"rows": rows}, show)


def _told(verdict: Verdict) -> dict[str, str]:
    return {
        "verdict": verdict.kind.value,
        "rule": verdict.rule,
        "reason": verdict.reason,
        "part": verdict.part,
    }


def _lines(file: Path) -> list[str]:
    from orchestrator.cli.task_commands import read_text

    return [line for line in read_text(file).splitlines() if line.strip()]
