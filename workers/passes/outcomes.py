"""What a command and its check together mean; pure."""

from shared.domain.attempt import CommandResult, Outcome


def outcome_of(result: CommandResult, check: CommandResult | None) -> tuple[Outcome, str]:
    """The outcome and its reason in words.

    Where there is a check, the check decides, not the exit code (S0.33, X20).
    """
    if result.cancelled or (check is not None and check.cancelled):
        return Outcome.CANCELLED, _with("cancelled", result.ended)
    if result.unknown and not (check is not None and check.ok):
        return Outcome.UNKNOWN, f"nobody can say how it ended: {result.unknown}"
    if check is not None and check.ok:
        return Outcome.OK, "" if result.ok else f"{how_it_ended(result)}, but its check is green"
    if result.ok:
        if check is None:
            return Outcome.OK, ""
        return Outcome.CHECK_FAILED, f"exit code 0, but its check: {how_it_ended(check)}"
    return Outcome.TIMED_OUT if result.timed_out else Outcome.FAILED, how_it_ended(result)


def how_it_ended(result: CommandResult) -> str:
    """How a command ended, in a few words."""
    if result.timed_out:
        return _with(f"ended after {seconds_taken(result):.0f} s, its timeout", result.ended)
    if result.unknown:
        return f"nobody can say how it ended ({result.unknown})"
    if result.exit_code is None:
        return "ended without an exit code"
    return f"exit code {result.exit_code}"


def _with(what: str, how: str) -> str:
    return f"{what}: {how}" if how else what


def seconds_taken(result: CommandResult) -> float:
    """How long a command ran."""
    return (result.ended_at - result.started_at).total_seconds()
