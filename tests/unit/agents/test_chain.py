"""Which runner an attempt gets, from what was recorded before."""

from dataclasses import replace

import pytest

from shared.domain.agent import AgentWork, RunnerChoice, StuckStrategy, Trigger, Watchdog
from shared.domain.attempt import AgentResult, AgentStatus, Attempt, EndedBy
from shared.domain.attempt_notes import EntryReason
from shared.domain.outcome import Outcome
from tests.unit.passes.given import NOON, attempt
from workers.agents.chain import entry_of, in_hand, next_runner

FIRST = RunnerChoice("first", 1)
LATE = RunnerChoice("late", 2, trigger=Trigger.ON_TIMEOUT)
LAST = RunnerChoice("last", 3, trigger=Trigger.ON_FAILURE)
WORK = AgentWork(runners=(FIRST, LATE, LAST))
AGAIN = replace(WORK, watchdog=Watchdog(strategy=StuckStrategy.KILL_AND_RETRY))


def agents(outcome: Outcome, ended_by: EndedBy | None = None, *, pass_no: int = 1) -> Attempt:
    """An attempt of an agent that ended like that."""
    result = AgentResult(AgentStatus.ERROR, "", NOON, NOON, ended_by=ended_by)
    return replace(attempt(outcome=outcome, pass_no=pass_no), result=result)


FAILED, RED = agents(Outcome.FAILED), agents(Outcome.CHECK_FAILED)
SLOW, ASKED = agents(Outcome.TIMED_OUT), agents(Outcome.NEEDS_INPUT)
STUCK = agents(Outcome.FAILED, EndedBy.WATCHDOG)
NOT_RUN = attempt(outcome=Outcome.FAILED)


@pytest.mark.parametrize(
    ("work", "tried", "entered"),
    [
        (WORK, [], "first"),
        (WORK, [FAILED], "last"),
        (WORK, [RED], "last"),
        (WORK, [SLOW], "late"),
        (WORK, [SLOW, RED], "last"),
        (WORK, [SLOW, RED, FAILED], None),
        (WORK, [STUCK], "late"),
        (AGAIN, [STUCK], "first"),
        (WORK, [ASKED], "first"),
        (WORK, [SLOW, ASKED], "late"),
        (WORK, [agents(Outcome.UNKNOWN)], "first"),
        (WORK, [NOT_RUN], "first"),
        (AgentWork(runner="only"), [FAILED], None),
        (AgentWork(runner="only"), [SLOW], None),
    ],
)
def test_the_next_runner_follows_from_the_recorded_ends(
    work: AgentWork, tried: list[Attempt], entered: str | None
) -> None:
    found = next_runner(work.chain, work, tried)
    assert (None if found is None else found.choice.runner) == entered


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (None, EntryReason.FIRST),
        (RED, EntryReason.FAILURE),
        (SLOW, EntryReason.TIMEOUT),
        (STUCK, EntryReason.STUCK),
        (ASKED, EntryReason.CONTINUED),
    ],
)
def test_why_a_runner_is_entered_is_known(last: Attempt | None, reason: EntryReason) -> None:
    assert entry_of(last) is reason


def test_a_pass_continues_those_that_asked_a_person() -> None:
    """What another revision, another subtask or a pass that is over did is not in hand."""
    over = agents(Outcome.FAILED, pass_no=1)
    asked = agents(Outcome.NEEDS_INPUT, pass_no=2)
    own = agents(Outcome.FAILED, pass_no=3)
    others = [replace(over, subtask=2), replace(over, revision=1), replace(over, rollback=True)]
    earlier = [over, asked, *others, own]
    assert in_hand(earlier, subtask=1, revision=0, pass_no=3) == [asked, own]
    assert in_hand(earlier, subtask=1, revision=0, pass_no=2) == [asked]
