"""What is noted about agents while they work, in words."""

from typing import assert_never

from orchestrator.words.quantities import count_of
from shared.domain.agent import Progress, StuckStrategy
from shared.domain.attempt_notes import (
    AgentState,
    AttemptNote,
    EntryReason,
    FoundStuck,
    Loop,
    RunnerEntered,
    TaskValidated,
)

_STATES = {
    AgentState.MODEL: "waiting for the model",
    AgentState.PROVIDER: "waiting for the model to begin its answer",
    AgentState.TOOL: "in a tool",
    AgentState.RETRYING: "repeating a request to the model",
    AgentState.IDLE: "doing nothing that can be seen",
    AgentState.ENDED: "after its result",
}
_LOOPS = {
    Loop.SAME_RESULT: "the same action had the same result {} times",
    Loop.SAME_ERROR: "the same action failed {} times",
    Loop.MONOLOGUE: "it said the same words {} times",
    Loop.ALTERNATING: "it took the same two actions in turn, {} in all",
}
_DONE = {
    StuckStrategy.NOTIFY: "it goes on",
    StuckStrategy.KILL_AND_RETRY: "it is ended and may be started again",
    StuckStrategy.NEXT_RUNNER: "it is ended and the next runner may enter",
}
_SIGNS = {
    Progress.FILES_CHANGED: "no file changed",
    Progress.COMMITS: "no new commit",
    Progress.LOG_ACTIVITY: "its stream and its processes quiet",
}
_BEFORE = {
    EntryReason.FAILURE: "failed",
    EntryReason.TIMEOUT: "ran out of time",
    EntryReason.STUCK: "made no progress",
}
_SHOWN = 12
"""Characters of a tree."""


def describe(note: AttemptNote) -> str:
    """A note in words."""
    match note:
        case RunnerEntered():
            return _entered(note)
        case FoundStuck():
            return _stuck(note)
        case TaskValidated():
            return _validated(note)
        case _:
            assert_never(note)


def is_bad(note: AttemptNote) -> bool:
    """Whether a person should look at it."""
    match note:
        case FoundStuck():
            return True
        case TaskValidated():
            return not note.compliant
    return False


def _entered(note: RunnerEntered) -> str:
    tree = f"tree {note.tree[:_SHOWN]}"
    if note.after is None:
        return f"{note.runner} starts from {tree}"
    why = _BEFORE.get(note.reason)
    if note.after == note.runner:
        again = "starts again" if why else "goes on"
        return f"{note.runner} {again} from {tree}{f': it {why}' if why else ''}"
    return f"{note.runner} goes on from {tree}{f': {note.after} {why}' if why else ''}"


def _stuck(note: FoundStuck) -> str:
    return f"{_finding(note)}; {_DONE[note.strategy]}"


def _finding(note: FoundStuck) -> str:
    if note.loop is not None:
        return f"goes round: {_LOOPS[note.loop].format(note.times)}"
    flat = ", ".join(_SIGNS[each] for each in note.indicators)
    return (
        f"stuck for {note.flat:.0f} s {_STATES[note.state]} (limit {note.limit:g} s): {flat}, "
        f"{count_of(note.stream, 'byte')} of its stream so far"
    )


def _validated(note: TaskValidated) -> str:
    left = f" (not judged: {', '.join(note.unjudged)})" if note.unjudged else ""
    if not note.violations:
        return f"kept to the autonomous protocol{left}"
    listed = "; ".join(f"{each.rule.value}: {each.details}" for each in note.violations)
    how = "was lax about" if note.compliant else "broke"
    return f"{how} the autonomous protocol{left}: {listed}"
