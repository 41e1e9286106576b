"""Judges, at the end of an attempt, whether an agent kept to the autonomous protocol.

Everything is read from records: the events of the runner, the handoff file in the last tree, and
the clock of the attempt. So whoever finishes an attempt comes to the same report.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from shared.domain.agent import AgentWork, Compliance
from shared.domain.compliance import ComplianceReport, ProtocolRule, Severity, Violation
from workers.agents.events import AgentEvent, Asked, ToolCalled

QUESTION_TOOLS = frozenset({"AskUserQuestion", "request_user_input"})
"""The tools of runners that ask a person. A call of one is a question, answered or not."""

_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Conduct:
    """What an attempt did that the protocol has rules about; spans in seconds.

    `questions` is None for a runner without structured events, because prose is not searched for
    questions (X13). `handoff` is the text of the handoff file, None if there is none.
    """

    task: str
    questions: int | None
    handoff: str | None
    time_actual: float


@dataclass(frozen=True, slots=True)
class TaskValidation:
    """The event at the end of an attempt (S4.45)."""

    task: str
    report: ComplianceReport

    def as_json(self) -> dict[str, Any]:
        """The event as JSON data, with exactly the fields of S4.45."""
        return {
            "type": "task_validation",
            "task_id": self.task,
            "compliant": self.report.compliant,
            "violations": [
                {"rule": each.rule.value, "severity": each.severity.value, "details": each.details}
                for each in self.report.violations
            ],
        }


def count_questions(events: Iterable[AgentEvent]) -> int:
    """How many questions the agent asked a person, refused ones included (X13).

    A question that is reported both as a call of its tool and as `Asked` counts once.
    """
    calls: set[str] = set()
    anonymous = 0
    for event in events:
        match event:
            case Asked(call=call) if call:
                calls.add(call)
            case Asked():
                anonymous += 1
            case ToolCalled(call=call, tool=tool) if tool in QUESTION_TOOLS:
                calls.add(call)
    return len(calls) + anonymous


def is_judged(work: AgentWork) -> bool:
    """Whether anything is judged: only autonomous work (S4.37), unless that is off (S4.25)."""
    return work.is_autonomous and work.compliance.check


def judge(work: AgentWork, conduct: Conduct) -> ComplianceReport:
    """The report on an attempt; without violations if it is not judged."""
    if not is_judged(work):
        return ComplianceReport()
    found = (_questions(conduct), _handoff(conduct), _overrun(conduct, work.time_budget))
    unjudged = {ProtocolRule.NO_QUESTIONS_TO_USER} if conduct.questions is None else ()
    return ComplianceReport(tuple(each for each in found if each), frozenset(unjudged))


def fails(compliance: Compliance, report: ComplianceReport) -> bool:
    """Whether the attempt fails because of its report (S4.44, X10)."""
    return compliance.check and compliance.fail_on_violation and not report.compliant


def describe(report: ComplianceReport) -> str:
    """What an attempt did against the protocol, in words; empty for nothing (S4.43)."""
    if not report.violations:
        return ""
    listed = (f"{each.rule.value}: {each.details}" for each in report.violations)
    return "violated autonomous mode protocol: " + "; ".join(listed)


def _questions(conduct: Conduct) -> Violation | None:
    """S4.38."""
    if not conduct.questions:
        return None
    return Violation(
        ProtocolRule.NO_QUESTIONS_TO_USER,
        Severity.CRITICAL,
        "Used AskUserQuestion tool in autonomous mode",
    )


def _handoff(conduct: Conduct) -> Violation | None:
    """S4.39: the file exists and names the task, as a word of its own."""
    named = rf"(?<![\w.-]){re.escape(conduct.task)}(?![\w-]|\.\w)"
    if conduct.handoff is not None and re.search(named, conduct.handoff):
        return None
    return Violation(
        ProtocolRule.DOCUMENT_DECISIONS, Severity.WARNING, "Missing handoff documentation"
    )


def _overrun(conduct: Conduct, budget: float) -> Violation | None:
    """S4.40; a minute that has begun counts."""
    over = math.ceil((conduct.time_actual - budget) / _MINUTE)
    if over <= 0:
        return None
    return Violation(
        ProtocolRule.TIME_BUDGET, Severity.WARNING, f"Exceeded budget by {over} minutes"
    )
