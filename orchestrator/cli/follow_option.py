"""Watching the task that an answer lets go on: `--wait`."""

from dataclasses import replace
from typing import Annotated

import typer

from orchestrator.cli.invocation import Invocation
from orchestrator.cli.reply import Result
from shared.domain.exits import ExitCode
from shared.domain.ids import Ref

FollowOption = Annotated[
    bool, typer.Option("--wait", help="Then watch the task; the exit code says how it ends.")
]


def then_follow(call: Invocation, answer: Result, task: int) -> Result:
    """The answer, and then what becomes of the task; only the answer if nobody has read it."""
    from orchestrator.cli.follow import follow  # SQLAlchemy loads when the database is needed

    if answer.exit_code is not ExitCode.DONE:
        return answer
    if call.human:
        answer.show(call.console)
    return replace(follow(call, Ref(task)), warnings=answer.warnings)
