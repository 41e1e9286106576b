"""Which runner carries out the next attempt of a subtask: a rule over the earlier ones; pure."""

from collections.abc import Iterable, Sequence

from shared.domain.agent import AgentWork, RunnerChoice
from shared.domain.attempt import AgentResult, Attempt, EndedBy
from shared.domain.attempt_notes import EntryReason
from shared.domain.outcome import Outcome
from workers.agents.fallback import Enter, RunnerEnd, RunnerRun, following

_ENDS = {
    Outcome.FAILED: RunnerEnd.FAILURE,
    Outcome.CHECK_FAILED: RunnerEnd.FAILURE,
    Outcome.TIMED_OUT: RunnerEnd.TIMEOUT,
}

_ENTRIES = {
    RunnerEnd.FAILURE: EntryReason.FAILURE,
    RunnerEnd.TIMEOUT: EntryReason.TIMEOUT,
    RunnerEnd.STUCK: EntryReason.STUCK,
}


_WAITED = frozenset({Outcome.NEEDS_INPUT, Outcome.OVER_BUDGET})


def next_runner(
    chain: Sequence[RunnerChoice], work: AgentWork, attempts: Iterable[Attempt]
) -> Enter | None:
    """The runner to enter after these attempts of a subtask; None if none is left.

    An attempt that asked something, could not pay its next call, was cancelled, or whose end is not
    known says nothing against its runner: the same one goes on.
    """
    runs: list[RunnerRun] = []
    entered = _entered(chain, work, runs)
    for attempt in attempts:
        end = _end(attempt)
        if entered is None or end is None:
            continue
        runs.append(RunnerRun(entered.place, end))
        entered = _entered(chain, work, runs)
    return entered


def entry_of(last: Attempt | None) -> EntryReason:
    """Why the next runner of a subtask is entered after that attempt; None for the first one."""
    if last is None:
        return EntryReason.FIRST
    end = _end(last)
    return EntryReason.CONTINUED if end is None else _ENTRIES[end]


def in_hand(
    earlier: Sequence[Attempt], *, subtask: int, revision: int, pass_no: int
) -> list[Attempt]:
    """The attempts of a subtask that its runners continue in a pass, oldest first.

    These are the attempts of the pass itself, and those of the passes directly before it that
    ended because an agent asked something or could not pay its next call. A pass in which no agent
    worked, because it ended to wait for an approval, for example, does not come between.
    """
    passes: dict[int, list[Attempt]] = {}
    for attempt in earlier:
        if (attempt.subtask, attempt.revision, attempt.rollback) == (subtask, revision, False):
            passes.setdefault(attempt.pass_no, []).append(attempt)
    found = passes.pop(pass_no, [])
    for number in sorted(passes, reverse=True):
        worked = [a for a in passes[number] if isinstance(a.result, AgentResult)]
        if worked and worked[-1].outcome not in _WAITED:
            break
        found = passes[number] + found
    return found


def _entered(
    chain: Sequence[RunnerChoice], work: AgentWork, runs: Sequence[RunnerRun]
) -> Enter | None:
    after = following(chain, work, runs)
    return after if isinstance(after, Enter) else None


def _end(attempt: Attempt) -> RunnerEnd | None:
    if not isinstance(attempt.result, AgentResult):
        return None
    if attempt.ended_by is EndedBy.WATCHDOG:
        return RunnerEnd.STUCK
    return _ENDS.get(attempt.outcome)
