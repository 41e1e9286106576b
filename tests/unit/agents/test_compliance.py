"""Whether an agent kept to the autonomous protocol, from the events of its runner."""

import pytest

from shared.domain.agent import AgentWork, Compliance, ExecutionMode
from shared.domain.compliance import ComplianceReport, ProtocolRule, Severity, Violation
from shared.domain.question import Question
from workers.agents.compliance import (
    Conduct,
    TaskValidation,
    count_questions,
    describe,
    fails,
    judge,
)
from workers.agents.events import AgentEvent, Asked, Said, SessionStarted, ToolCalled, ToolReturned

AUTONOMOUS = AgentWork(mode=ExecutionMode.AUTONOMOUS, time_budget=45 * 60)
HANDOFF = "# Handoff\n\n- db-schema: chose SQLite, because nothing else is installed\n"
ASKED = Asked(Question("Which database?"), "c1", deferred=True)


def conduct(
    *, questions: int | None = 0, handoff: str | None = HANDOFF, minutes: float = 42
) -> Conduct:
    """What a good attempt does, but for what a test says."""
    return Conduct("db-schema", questions, handoff, minutes * 60)


def test_a_good_attempt_is_compliant() -> None:
    assert judge(AUTONOMOUS, conduct()) == ComplianceReport()
    assert judge(AUTONOMOUS, conduct()).compliant


@pytest.mark.parametrize("mode", [None, ExecutionMode.INTERACTIVE])
def test_s4_37_a_task_that_is_not_autonomous_is_compliant(mode: ExecutionMode | None) -> None:
    worst = conduct(questions=9, handoff=None, minutes=999)
    report = judge(AgentWork(mode=mode), worst)
    assert (report.compliant, report.violations) == (True, ())


def test_s4_25_nothing_is_judged_where_the_check_is_off() -> None:
    work = AgentWork(mode=ExecutionMode.AUTONOMOUS, compliance=Compliance(check=False))
    assert judge(work, conduct(questions=1)) == ComplianceReport()


def test_s4_38_a_question_to_the_user_is_critical() -> None:
    report = judge(AUTONOMOUS, conduct(questions=1))
    assert report.violations == (
        Violation(
            ProtocolRule.NO_QUESTIONS_TO_USER,
            Severity.CRITICAL,
            "Used AskUserQuestion tool in autonomous mode",
        ),
    )
    assert not report.compliant


@pytest.mark.parametrize(
    ("events", "asked"),
    [
        ([], 0),
        ([ASKED], 1),
        # The tool's name in a list of tools, in prose or in an argument is no question.
        ([SessionStarted("s", "AskUserQuestion")], 0),
        ([Said("I will not use AskUserQuestion. Which database? ")], 0),
        ([ToolCalled("c2", "Bash", '{"command":"grep AskUserQuestion log"}')], 0),
        # A call of the tool that the runner refused.
        ([ToolCalled("c3", "AskUserQuestion", "{}"), ToolReturned("c3", True, "no such tool")], 1),
        # One question, reported twice; and a runner that names no call.
        ([ToolCalled("c1", "AskUserQuestion", "{}"), ASKED], 1),
        ([ASKED, Asked(Question("And now?"), "", deferred=False)], 2),
    ],
)
def test_x13_questions_are_counted_from_events(events: list[AgentEvent], asked: int) -> None:
    assert count_questions(events) == asked


def test_x13_a_runner_without_events_is_not_judged_by_its_prose() -> None:
    report = judge(AUTONOMOUS, conduct(questions=None))
    assert report.compliant
    assert report.unjudged == {ProtocolRule.NO_QUESTIONS_TO_USER}


@pytest.mark.parametrize(
    ("handoff", "documented"),
    [
        (HANDOFF, True),
        ("Done: db-schema.", True),
        ("`db-schema` is done", True),
        (None, False),
        ("", False),
        ("what was decided in db-schema-2", False),
        ("what was decided in old-db-schema", False),
        ("see db-schema.md", False),
    ],
)
def test_s4_39_the_handoff_file_names_the_task(handoff: str | None, documented: bool) -> None:
    report = judge(AUTONOMOUS, conduct(handoff=handoff))
    missing = Violation(
        ProtocolRule.DOCUMENT_DECISIONS, Severity.WARNING, "Missing handoff documentation"
    )
    assert report.violations == (() if documented else (missing,))
    assert report.compliant


@pytest.mark.parametrize(
    ("minutes", "details"),
    [
        (45, None),
        (52, "Exceeded budget by 7 minutes"),
        (45.1, "Exceeded budget by 1 minutes"),
    ],
)
def test_s4_40_more_time_than_the_budget_is_a_warning(minutes: float, details: str | None) -> None:
    report = judge(AUTONOMOUS, conduct(minutes=minutes))
    expected = Violation(ProtocolRule.TIME_BUDGET, Severity.WARNING, details or "")
    assert report.violations == (() if details is None else (expected,))


def test_s4_41_warnings_alone_are_compliant() -> None:
    report = judge(AUTONOMOUS, conduct(handoff=None, minutes=60))
    assert len(report.violations) == 2
    assert report.compliant


@pytest.mark.parametrize(
    ("compliance", "failed"),
    [
        (Compliance(), False),
        (Compliance(fail_on_violation=True), True),
        (Compliance(check=False, fail_on_violation=True), False),
    ],
)
def test_s4_44_a_critical_violation_fails_the_attempt_where_that_is_set(
    compliance: Compliance, failed: bool
) -> None:
    assert fails(compliance, judge(AUTONOMOUS, conduct(questions=1))) is failed
    assert not fails(compliance, judge(AUTONOMOUS, conduct(handoff=None)))


def test_s4_43_each_violation_is_told() -> None:
    assert describe(judge(AUTONOMOUS, conduct(questions=2, minutes=50))) == (
        "violated autonomous mode protocol: NO_QUESTIONS_TO_USER: Used AskUserQuestion tool in "
        "autonomous mode; TIME_BUDGET: Exceeded budget by 5 minutes"
    )
    assert describe(ComplianceReport()) == ""


def test_s4_42_s4_45_the_event_has_exactly_these_fields() -> None:
    report = judge(AUTONOMOUS, conduct(questions=2))
    assert TaskValidation("db-schema", report).as_json() == {
        "type": "task_validation",
        "task_id": "db-schema",
        "compliant": False,
        "violations": [
            {
                "rule": "NO_QUESTIONS_TO_USER",
                "severity": "critical",
                "details": "Used AskUserQuestion tool in autonomous mode",
            }
        ],
    }
