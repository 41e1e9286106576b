"""`replan guard check --plan FILE`."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from orchestrator.acts.plan_text import PlanText
from orchestrator.cli.files import read_text
from orchestrator.cli.guard_options import COLOURS
from orchestrator.cli.invocation import Invocation
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import plain
from shared.domain.exits import ExitCode
from shared.domain.next_step import NextStep

if TYPE_CHECKING:  # the guard loads its parser only when a command needs it
    from orchestrator.acts.guard_policies import Under


def check_whole_plan(call: Invocation, file: Path, under: "Under") -> Result:
    """Every text of a plan that is denied or will ask; nothing is run."""
    from orchestrator.acts.guard import check_plan

    found = check_plan(call.caller, PlanText(read_text(file), str(file)), under)
    stops = [each for each in found if not each.verdict.allowed]
    rows = [
        {
            "step": each.step,
            "subtask": each.subtask,
            "part": each.part.value,
            "text": each.text,
            "verdict": each.verdict.kind.value,
            "rule": each.verdict.rule,
            "reason": each.verdict.reason,
        }
        for each in found
    ]

    def show(console: Console) -> None:
        for each in stops:
            kind = each.verdict.kind.value
            console.print(f"[{COLOURS[kind]}]{kind}[/] {plain(each.place)}", highlight=False)
            console.print(f"  {plain(each.shown)}", highlight=False)
            console.print(f"  {plain(each.verdict.reason)}", highlight=False)
        told = f"{len(stops)} of {len(found)} texts need a person or are denied"
        console.print(told if stops else f"all {len(found)} texts are allowed", highlight=False)

    reason = f"{len(stops)} of {len(found)} texts of the plan are not allowed" if stops else None
    return Result(
        "guard.check",
        {"plan": str(file), "texts": rows},
        show,
        exit_code=ExitCode.FAILED if stops else ExitCode.DONE,
        stage="guard" if stops else None,
        reason=reason,
        next_step=NextStep.of("guard rules") if stops else None,
    )
