"""What watching and judging leave in the result of an agent."""

from datetime import UTC, datetime

from shared.domain.agent import ExecutionMode
from shared.domain.attempt import AgentResult, AgentStatus, EndedBy, Signal
from shared.domain.compliance import ProtocolRule, Severity, Violation
from shared.domain.outcome import Outcome
from shared.wire import from_json, to_json
from workers.passes.outcomes import outcome_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STUCK = AgentResult(
    AgentStatus.ERROR,
    "",
    NOON,
    NOON,
    questions=None,
    stuck=2,
    violations=(Violation(ProtocolRule.TIME_BUDGET, Severity.WARNING, "Exceeded"),),
    mode=ExecutionMode.AUTONOMOUS,
    time_budget=2700.0,
    ended_by=EndedBy.WATCHDOG,
    signal=Signal.KILL,
)


def test_an_attempt_that_its_watchdog_ended_has_failed_and_is_counted() -> None:
    """S4.34: it is tried again; so it is neither cancelled nor a timeout."""
    assert (STUCK.ok, STUCK.cancelled, STUCK.timed_out) == (False, False, False)
    outcome, reason = outcome_of(STUCK, None)
    assert outcome is Outcome.FAILED
    assert reason.startswith("it made no progress: ended by its watchdog")


def test_violations_come_back_from_a_row() -> None:
    assert from_json(AgentResult, to_json(STUCK)) == STUCK
