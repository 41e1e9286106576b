"""`replan guard check`."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.completion import hosts
from orchestrator.cli.files import read_text
from orchestrator.cli.guard_check_plan import check_whole_plan
from orchestrator.cli.guard_options import COLOURS, POLICY, PROFILE
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Format, Result
from orchestrator.cli.tables import plain
from shared.domain.errors import Rejected
from shared.domain.exits import ExitCode
from shared.domain.next_step import NextStep
from shared.domain.verdict import Verdict

if TYPE_CHECKING:  # the guard loads its parser only when a command needs it
    from orchestrator.acts.guard import ProgramLine
    from orchestrator.acts.guard_policies import Under


class Role(StrEnum):
    """What a text is in a plan."""

    COMMAND = "command"
    LOOK = "look"


def register(group: typer.Typer) -> None:
    """Add the command to its group."""
    add(group, "check", example="replan guard check 'sudo rm -rf /'")(check)


def check(
    call: Invocation,
    command: Annotated[str | None, typer.Argument(help="A shell command.")] = None,
    *,
    file: Annotated[
        Path | None, typer.Option(help='Many commands, one {"id", "cmd"} per line.')
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Every text of this plan, as an executor would judge it.")
    ] = None,
    interpreter: Annotated[str, typer.Option(help="The shell that would run it.")] = "sh",
    host: Annotated[
        str | None, typer.Option(help="Under the policy of this host.", autocompletion=hosts)
    ] = None,
    policy: Annotated[Path | None, POLICY] = None,
    profile: Annotated[list[str] | None, PROFILE] = None,
    role: Annotated[
        Role, typer.Option("--as", help="`look`: a check, as on a host that contains looks.")
    ] = Role.COMMAND,
) -> Result:
    """Ask the guard whether a command may run, and why; nothing is run."""
    from orchestrator.acts.guard import check as judge
    from orchestrator.acts.guard_policies import Under

    under = Under(host, policy, tuple(profile or ()))
    if plan is not None:
        return check_whole_plan(call, plan, under)
    if file is not None:
        return _many(call, file, interpreter, under, look=role is Role.LOOK)
    if command is None:
        raise Rejected(
            "name a command, --file FILE or --plan FILE",
            stage="input",
            next_step=NextStep.of("guard check", help=True),
        )
    judgement = judge(call.caller, command, interpreter, under, look=role is Role.LOOK)
    verdict, programs = judgement.verdict, judgement.programs

    def show(console: Console) -> None:
        kind = verdict.kind.value
        console.print(f"[{COLOURS[kind]}]{kind}[/] {plain(verdict.reason)}", highlight=False)
        if verdict.rule:
            console.print(f"  rule: {plain(verdict.rule)}", highlight=False)
        if verdict.part:
            console.print(f"  at:   {plain(verdict.part)}", highlight=False)
        for found in programs:
            console.print(f"  {plain(_line(found))}", highlight=False)

    refused = not verdict.allowed
    return Result(
        "guard.check",
        _verdict_fields(verdict)
        | {"command": command, "programs": list(programs), "version": judgement.version},
        show,
        exit_code=ExitCode.FAILED if refused else ExitCode.DONE,
        stage="guard" if refused else None,
        reason=verdict.reason if refused else None,
        next_step=NextStep.of("guard rules") if refused else None,
    )


def _line(program: "ProgramLine") -> str:
    told = f"{program.verdict:7} {program.runs}"
    source = f"{program.source}: " if program.source else ""
    return f"{told}  <- {source}{program.rule} ({program.reason})" if program.rule else told


def _many(call: Invocation, file: Path, interpreter: str, under: "Under", *, look: bool) -> Result:
    from orchestrator.acts.guard import verdicts

    asked = [_parse_row(file, number, line) for number, line in enumerate(_lines(file), start=1)]
    commands = (command for _, command in asked)
    found = verdicts(call.caller, commands, interpreter, under, look=look)
    rows = [
        {"id": row_id, **_verdict_fields(verdict)}
        for (row_id, _), verdict in zip(asked, found, strict=True)
    ]
    if call.output is Format.JSONL:
        for row in rows:
            call.console.out(json.dumps(row), highlight=False)
        return Result("guard.check", items=())

    def show(console: Console) -> None:
        for row in rows:
            console.print(
                f"{row['id']} [{COLOURS[row['verdict']]}]{row['verdict']}[/] {plain(row['reason'])}"
            )

    return Result("guard.check", {"rows": rows}, show)


def _parse_row(file: Path, number: int, line: str) -> tuple[Any, str]:
    """The id and the command in a line of a file."""
    try:
        asked = json.loads(line)
        row_id, text = asked["id"], asked["cmd"]
        if not isinstance(text, str):
            raise TypeError(f"cmd must be text, not {text!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise Rejected(
            f'{file}:{number} is not a valid {{"id", "cmd"}}: {error}', stage="input"
        ) from error
    return row_id, text


def _verdict_fields(verdict: Verdict) -> dict[str, str]:
    return {
        "verdict": verdict.kind.value,
        "rule": verdict.rule,
        "reason": verdict.reason,
        "part": verdict.part,
    }


def _lines(file: Path) -> list[str]:
    return [line for line in read_text(file).splitlines() if line.strip()]
