"""Exporting a finished task to a file."""

from pathlib import Path

from rich.console import Console

from orchestrator.cli.answers import Export
from orchestrator.cli.files import write_new
from orchestrator.cli.invocation import Invocation
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import next_step, plain
from orchestrator.export.runbook import Runbook, runbook
from orchestrator.views.final_plan import final_plan
from shared.contracts.origin import Origin
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import Blank, NextStep

FORMS = ("runbook",)


def export_task(call: Invocation, ref: Ref, form: str, output: Path | None) -> Result:
    """The answer of `task export`; an existing file is never overwritten."""
    if form not in FORMS:
        raise Rejected(
            f"{form!r} is not a valid export format; use {', '.join(FORMS)}",
            stage="input",
            next_step=NextStep.of("task export", ref, as_="runbook"),
        )
    with call.reading() as connection:
        done = final_plan(connection, ref)
    origin = Origin(str(done.ref), "export", NextStep.of("task report", done.ref))
    made = runbook(done.prompt, done.plan, done.hosts, origin=origin)
    if output is not None:
        write_new(output, made.text)
    command = NextStep.of("task submit", made.prompt, host=Blank("NAME"), planner="runbook")

    def show(console: Console) -> None:
        if output is None:
            console.out(made.text.rstrip(), highlight=False)
            return
        console.print(f"wrote {plain(output)}: the job {plain(made.job)}{_parameters(made)}")
        console.print(
            f"workers find it with REPLAN_RUNBOOK_DIRS={plain(output.resolve().parent)}",
            highlight=False,
        )
        next_step(console, command)

    details = Export(
        ref=done.ref,
        form=form,
        job=made.job,
        parameters=made.parameters,
        file=None if output is None else str(output),
        text=made.text,
    )
    return Result("task.export", details, show, next_step=command)


def _parameters(made: Runbook) -> str:
    if not made.parameters:
        return ", without parameters"
    return ", " + ", ".join(f"{plain(k)}={plain(v)}" for k, v in made.parameters.items())
