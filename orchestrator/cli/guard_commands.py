"""`replan guard …`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Format, Result
from orchestrator.cli.tables import plain
from orchestrator.envelope import ExitCode
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.verdict import Verdict

if TYPE_CHECKING:  # the guard loads its parser when a command asks for it
    from shared.guard import Guard
    from shared.guard.policy.allowlist import Coverage

group = typer.Typer(name="guard", no_args_is_help=True)

Judge = Callable[[str, str], Verdict]

POLICY = typer.Option(help="A policy file, in place of the one in the settings.", metavar="FILE")
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
    host: Annotated[str | None, typer.Option(help="Under the policy of this host.")] = None,
    policy: Annotated[Path | None, POLICY] = None,
) -> Result:
    """Whether the guard would let a command run, and why; nothing is run."""
    guard = _guard(call, host, policy)
    if file is not None:
        return _many(call, guard.judge, file, interpreter)
    if command is None:
        raise Rejected(
            "say a command, or --file FILE",
            stage="input",
            next_step=NextStep.of("guard check", help=True),
        )
    explanation = guard.explain(command, interpreter)
    verdict = explanation.verdict
    programs = [_program(finding) for finding in explanation.findings if finding.run.argv]

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
        _told(verdict) | {"command": command, "programs": programs, "version": guard.version},
        show,
        exit_code=ExitCode.FAILED if refused else ExitCode.DONE,
        stage="guard" if refused else None,
        reason=verdict.reason if refused else None,
        next_step=NextStep.of("guard rules") if refused else None,
    )


@add(group, "rules", example="replan guard rules --host web1")
def rules(
    call: Invocation,
    program: Annotated[str | None, typer.Argument(help="Only what is said of it.")] = None,
    *,
    host: Annotated[str | None, typer.Option(help="Under the policy of this host.")] = None,
    policy: Annotated[Path | None, POLICY] = None,
) -> Result:
    """Every rule that holds: what is denied and what is allowed, by whom, and for which reason."""
    guard = _guard(call, host, policy)
    rows = [
        {"verdict": "deny", "rule": f.entry, "reason": f.reason, "source": f.source}
        for f in guard.policy.forbidden
        if program is None or program in f.entry.split()
    ]
    rows += [
        {"verdict": "allow", "rule": a.name, "reason": a.reason, "source": a.source}
        for a in guard.policy.allowances
        if program is None or a.run[0] == program
    ]

    def show(console: Console) -> None:
        for row in rows:
            console.print(
                f"[{COLOURS[row['verdict']]}]{row['verdict']:6}[/] {plain(row['rule'])}  "
                f"({plain(row['source'])}: {plain(row['reason'] or 'no reason given')})",
                highlight=False,
            )
        console.print("whatever no rule lists asks for a person's approval")
        console.print(f"policy version {guard.version}", highlight=False)

    found = {"rules": rows, "version": guard.version}
    return Result("guard.rules", found, show, items=tuple(rows))


def _guard(call: Invocation, host: str | None, policy: Path | None) -> "Guard":
    """The guard of a host under the settings of this call. Raises Misconfigured."""
    from shared.guard import Guard, load_site

    settings = call.settings
    site = load_site(policy or settings.server.guard_policy)
    return Guard(site.for_host(host, settings.agent.forbidden_commands))


def _program(finding: "Coverage") -> dict[str, Any]:
    """One program that the command would run: its words, and what was found about it."""
    allowance, doubt = finding.allowance, finding.doubt
    return {
        "runs": " ".join(map(str, finding.run.argv)),
        "at": finding.run.part,
        "verdict": "approve" if doubt else "allow",
        "rule": allowance.name if allowance else (doubt.rule if doubt else ""),
        "source": allowance.source if allowance else "",
        "reason": allowance.reason if allowance else (doubt.reason if doubt else ""),
    }


def _line(found: dict[str, Any]) -> str:
    told = f"{found['verdict']:7} {found['runs']}"
    source = f"{found['source']}: " if found["source"] else ""
    return f"{told}  <- {source}{found['rule']} ({found['reason']})" if found["rule"] else told


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
    from orchestrator.cli.files import read_text

    return [line for line in read_text(file).splitlines() if line.strip()]
