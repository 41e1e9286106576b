"""What is noted about agents at work, in words."""

import pytest

from orchestrator.views.entries import Entry, Noted
from orchestrator.words.kinds import MessageKind, Tone
from orchestrator.words.messages import message_of
from orchestrator.words.notes import describe, is_bad
from shared.domain.agent import Progress, StuckStrategy
from shared.domain.attempt_notes import (
    NOTES,
    AgentState,
    AttemptNote,
    EntryReason,
    FoundStuck,
    Loop,
    RunnerEntered,
    TaskValidated,
    kind_of,
)
from shared.domain.compliance import ProtocolRule, Severity, Violation
from shared.domain.ids import Ref
from tests.unit.passes.given import NOON

TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
STUCK = FoundStuck(
    AgentState.MODEL, 301.4, 300, StuckStrategy.NEXT_RUNNER, tuple(Progress), 1200, TREE
)
BROKEN = Violation(ProtocolRule.NO_QUESTIONS_TO_USER, Severity.CRITICAL, "asked")
LAX = Violation(ProtocolRule.TIME_BUDGET, Severity.WARNING, "late")


@pytest.mark.parametrize(
    ("note", "words", "bad"),
    [
        (RunnerEntered("codex", TREE), "codex starts from tree 4b825dc642cb", False),
        (
            RunnerEntered("codex", TREE, EntryReason.STUCK, "claude-code"),
            "codex goes on from tree 4b825dc642cb: claude-code made no progress",
            False,
        ),
        (
            RunnerEntered("codex", TREE, EntryReason.STUCK, "codex"),
            "codex starts again from tree 4b825dc642cb: it made no progress",
            False,
        ),
        (
            RunnerEntered("codex", TREE, EntryReason.CONTINUED, "codex"),
            "codex goes on from tree 4b825dc642cb",
            False,
        ),
        (
            STUCK,
            "stuck for 301 s waiting for the model (limit 300 s): no file changed, no new commit, "
            "its stream and its processes quiet, 1200 bytes of its stream so far; it is ended and "
            "the next runner may enter",
            True,
        ),
        (
            FoundStuck(
                AgentState.IDLE, 0, 300, StuckStrategy.NOTIFY, loop=Loop.SAME_ERROR, times=3
            ),
            "goes round: the same action failed 3 times; it goes on",
            True,
        ),
        (TaskValidated("s1", compliant=True), "kept to the autonomous protocol", False),
        (
            TaskValidated("s1", compliant=True, unjudged=(ProtocolRule.NO_QUESTIONS_TO_USER,)),
            "kept to the autonomous protocol (not judged: NO_QUESTIONS_TO_USER)",
            False,
        ),
        (
            TaskValidated("s1", compliant=True, violations=(LAX,)),
            "was lax about the autonomous protocol: TIME_BUDGET: late",
            False,
        ),
        (
            TaskValidated("s1", compliant=False, violations=(BROKEN,)),
            "broke the autonomous protocol: NO_QUESTIONS_TO_USER: asked",
            True,
        ),
    ],
)
def test_a_note_in_words(note: AttemptNote, words: str, *, bad: bool) -> None:
    assert (describe(note), is_bad(note)) == (words, bad)
    message = message_of(Entry(NOON, Ref(1, 1, 1, 1), Noted(note), "note-1"))
    assert message is not None
    tone = Tone.ATTENTION if bad else Tone.PLAIN
    assert (message.kind, message.tone, message.text) == (MessageKind.AGENT, tone, words)
    assert type(note) is NOTES[kind_of(note)]
