"""The outcome of an attempt of an agent, and its question; pure."""

from collections.abc import Sequence
from typing import Any, Final

from shared.domain.agent import AgentWork
from shared.domain.attempt import AgentResult, AgentStatus, Attempt, CommandResult
from shared.domain.compliance import ComplianceReport
from shared.domain.outcome import Outcome
from shared.domain.question import Question
from workers.agents.compliance import describe, fails
from workers.agents.deliverable import DELIVERABLES
from workers.agents.events import EndReason
from workers.agents.runners.port import Capabilities, RunnerOutcome
from workers.agents.task_text import Assignment
from workers.passes.outcomes import outcome_of

NOT_FOUND: Final = 127
"""The exit code of a shell for a program that is missing."""

_WENT_WRONG = frozenset({Outcome.FAILED, Outcome.CHECK_FAILED, Outcome.TIMED_OUT})


def agent_outcome(
    result: AgentResult, check: CommandResult | None, work: AgentWork | None = None
) -> tuple[Outcome, str]:
    """The outcome and its reason in words; its check decides, whatever the agent says.

    An agent whose runner could not be started has failed: its check was green before it.
    Without a check, an agent has failed if neither it nor those before it whose work it went on
    with have changed anything: nothing shows that the work is done. An agent that asks a person
    has not failed, unless it works without one: then the next runner goes on. One that broke the
    protocol has, where its `work` says so (S4.44). One that could not pay its next call has not
    failed, either: a person is asked.
    """
    outcome, reason = outcome_of(result, check)
    if result.not_started and outcome in {Outcome.OK, *_WENT_WRONG}:
        return Outcome.FAILED, result.not_started
    if outcome in _WENT_WRONG and result.unpaid is not None:
        return Outcome.OVER_BUDGET, result.unpaid.reason
    if outcome in _WENT_WRONG and result.status is AgentStatus.NEEDS_INPUT:
        asked = _question(result, reason).text
        if work is None or not work.is_autonomous:
            return Outcome.NEEDS_INPUT, asked
        return outcome, f"it works without a person, but asks: {asked}"
    if outcome is Outcome.OK and check is None and result.tree == (result.began or result.before):
        return Outcome.FAILED, "the agent changed nothing, and no check shows that the work is done"
    report = ComplianceReport(result.violations)
    if outcome is Outcome.OK and work is not None and fails(work.compliance, report):
        return Outcome.FAILED, describe(report)
    return outcome, reason


def began_with(before: str, earlier: Sequence[AgentResult]) -> str:
    """The tree with which the first agent began whose work one goes on with that finds `before`.

    What others have changed between two agents is nobody's work here: the row ends there.
    """
    for made in reversed(earlier):
        if made.before is None:
            continue
        if made.tree != before:
            break
        before = made.before
    return before


def why_not_started(runner: str, said: RunnerOutcome, exit_code: int | None) -> str:
    """Why a runner could not be started at all; empty if it was."""
    if said.reason is not EndReason.NOT_STARTED:
        return ""
    absent = exit_code == NOT_FOUND
    told = "is not installed on the host" if absent else "could not be started on the host"
    detail = said.detail.strip().partition("\n")[0]
    return f"{runner} {told}{f': {detail}' if detail else ''}"


def summary_of(said: RunnerOutcome) -> str:
    """What a runner says about its work; unless all went well, what went wrong with it, too."""
    if said.status is AgentStatus.OK and said.summary:
        return said.summary
    return "\n".join(dict.fromkeys(filter(None, (said.summary, said.detail))))


def answer_of(
    said: RunnerOutcome, assignment: Assignment, capabilities: Capabilities
) -> dict[str, Any] | None:
    """What a runner has answered as data; of deliverables that it owes and did not give, None."""
    if said.structured is None:
        return None
    owed = assignment.issue is not None and capabilities.schema
    return {**({DELIVERABLES: None} if owed else {}), **said.structured}


def question_of(attempt: Attempt) -> Question | None:
    """The question of an attempt that ended as `needs_input`."""
    if not isinstance(attempt.result, AgentResult):
        return None
    return _question(attempt.result, attempt.reason)


def _question(result: AgentResult, reason: str) -> Question:
    return result.question or Question(result.summary or reason)
