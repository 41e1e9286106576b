"""The result of a command, from how it ended and what it printed."""

from datetime import UTC, datetime

from shared.domain.attempt import CommandResult, Signal, Unknown
from workers.shells.ports import Call
from workers.shells.remote.follow import WaitResult
from workers.shells.remote.output import Output
from workers.shells.remote.waiting import ENDED_BY, Stop

RESTARTED = WaitResult(None, Stop.LOST, unknown=Unknown.NO_RECORD)
REMOVED = WaitResult(None, Stop.LOST, unknown=Unknown.RECORD_REMOVED)

_SIGNALS = {"TERM": Signal.TERM, "KILL": Signal.KILL}


_KILLED = 137


def broken_containment(call: Call, started: datetime) -> CommandResult:
    """The result of a contained call that has twice ended the containment it ran in."""
    said = b"it ended the containment in which it ran\n"
    return CommandResult(call.command, _KILLED, b"", said, started, datetime.now(UTC))


def result_of(call: Call, started: datetime, output: Output, outcome: WaitResult) -> CommandResult:
    """The result of a call that started then; incomplete output says how much is missing."""
    out, err = output.captures["stdout"], output.captures["stderr"]
    natural = outcome.ended if outcome.stop is Stop.EXITED else None
    return CommandResult(
        call.command,
        None if natural is None else natural.exit_code,
        out.content(),
        err.content(),
        started,
        datetime.now(UTC),
        stdout_dropped=out.dropped,
        stderr_dropped=err.dropped,
        ended_by=ENDED_BY.get(outcome.stop),
        signal=_SIGNALS.get(outcome.killed.how),
        left_over=outcome.killed.left if natural is None else natural.left,
        unknown=outcome.unknown,
    )
