"""The outcome of a command and its check together; pure."""

from shared.domain.attempt import AgentResult, CommandResult, EndedBy, Ran, Signal, Unknown
from shared.domain.budget import Ending
from shared.domain.outcome import Outcome

_SIGNALS = {
    Signal.TERM: "ended by TERM",
    Signal.KILL: "ended by KILL, since TERM did not end it",
}
_UNKNOWN = {
    Unknown.HOST_RESTARTED: "the host was restarted while it ran",
    Unknown.NO_RECORD: "the host was restarted and no longer has a record of it",
    Unknown.RECORD_REMOVED: "the host has no record of it, and removes records after two days",
    Unknown.OTHER_CONTAINER: (
        "it was started in another container, whose processes are not visible from here"
    ),
    Unknown.SHELL_KILLED: "the shell that ran it on the host was killed",
}

STOPS = {
    Outcome.DENIED: Ending.BLOCKED,
    Outcome.NEEDS_APPROVAL: Ending.NEEDS_APPROVAL,
    Outcome.CANCELLED: Ending.CANCELLED,
    Outcome.UNKNOWN: Ending.UNKNOWN,
    Outcome.NEEDS_INPUT: Ending.NEEDS_INPUT,
    Outcome.OVER_BUDGET: Ending.OVER_BUDGET,
}
"""How a pass ends at once after an attempt with that outcome."""


def outcome_of(result: Ran, check: CommandResult | None) -> tuple[Outcome, str]:
    """The outcome and its reason in words.

    If there is a check, it decides instead of the exit code (S0.33, X20).
    """
    if result.cancelled or (check is not None and check.cancelled):
        return Outcome.CANCELLED, describe_forced_end("cancelled", result)
    if result.unknown and not (check is not None and check.ok):
        return Outcome.UNKNOWN, f"nobody can say how it ended: {_UNKNOWN[result.unknown]}"
    if check is not None and check.ok:
        return Outcome.OK, "" if result.ok else f"{describe_end(result)}, but its check is green"
    if result.ok:
        if check is None:
            return Outcome.OK, ""
        return Outcome.CHECK_FAILED, f"{describe_end(result)}, but its check: {describe_end(check)}"
    return Outcome.TIMED_OUT if result.timed_out else Outcome.FAILED, describe_end(result)


def describe_end(result: Ran) -> str:
    """Say in a few words how a command ended."""
    if result.timed_out:
        return describe_forced_end(f"ended after {duration(result):.0f} s, its timeout", result)
    if result.ended_by is EndedBy.WATCHDOG:
        return describe_forced_end("it made no progress: ended by its watchdog", result)
    if result.ended_by is EndedBy.SPENDING:
        return describe_forced_end("its next call to a model could not be paid", result)
    if result.unknown:
        return f"nobody can say how it ended ({_UNKNOWN[result.unknown]})"
    if isinstance(result, AgentResult):
        return f"the agent says {result.status}" + (f": {result.summary}" if result.summary else "")
    if result.exit_code is None:
        return "ended without an exit code"
    return f"exit code {result.exit_code}"


def describe_forced_end(what: str, result: Ran) -> str:
    """Add to `what` the signal that ended a command, or the processes that are left of it."""
    if result.left_over and result.ended_by is not None:
        return f"{what}: could not be ended; left over: {' '.join(result.left_over)}"
    return what if result.signal is None else f"{what}: {_SIGNALS[result.signal]}"


def duration(result: Ran) -> float:
    """How long a command ran, in seconds."""
    return (result.ended_at - result.started_at).total_seconds()
