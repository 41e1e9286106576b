"""The report as Markdown, from a report that was put together by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from markdown_it import MarkdownIt

from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.agents import AgentLine, CostSource
from orchestrator.views.attempts import AttemptLine
from orchestrator.views.entries import AttemptEnded, Entry
from orchestrator.views.escalations import Escalation, Recipient
from orchestrator.views.interventions import InterventionView
from orchestrator.views.report import Report
from orchestrator.views.steps import RevisionView, StepLine, StepView
from orchestrator.views.tasks import RunView, TaskView
from orchestrator.words.kinds import Tone
from orchestrator.words.messages import words_of
from orchestrator.words.report import markdown
from shared.domain.attempt import AgentStatus
from shared.domain.author import Author, PlanningRole
from shared.domain.cause import Cause, CauseKind
from shared.domain.config import Policy
from shared.domain.delivery import Rejection
from shared.domain.ids import parse_ref
from shared.domain.next_step import NextStep
from shared.domain.outcome import Outcome
from shared.domain.plan import OnFailure, Recovery
from shared.domain.rejected_delivery import RejectedDelivery
from shared.domain.task import RunPhase, StepPhase, TaskPhase
from shared.visible import visible

AUTHOR = Author(PlanningRole.SUBTASK_PLANNER, "runbook")
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def tried(number: int, outcome: str, **changed: Any) -> AttemptLine:
    """An attempt."""
    line = AttemptLine(
        id=number,
        ref=parse_ref(f"T7.1.1#{number}@web1"),
        key=f"k{number}",
        revision=0,
        pass_no=1,
        retry_count=number - 1,
        command="systemctl start web",
        correction=None,
        outcome=Outcome(outcome),
        counted=outcome == "failed",
        reason="exit code 1" if outcome == "failed" else "",
        said="address in use" if outcome == "failed" else "",
        exit_code=1 if outcome == "failed" else 0,
        check_exit_code=None,
        started_at=AT,
        ended_at=AT + timedelta(seconds=2),
        seconds=2.0,
    )
    return replace(line, **changed)


def compiled() -> Report:
    """A step that failed twice, was escalated, revised, and done by a correction."""
    step = StepLine(
        ref=parse_ref("T7.1@web1"),
        run_id=3,
        ordinal=1,
        title="Start it",
        phase=StepPhase.DONE,
        state="Done",
        author=AUTHOR,
        revision=1,
        pass_no=2,
        errors=0,
        threshold=4,
        done=1,
        subtasks=1,
        depends_on=(),
        recovery=Recovery.REPLAN,
        on_failure=OnFailure.STOP,
        reason="",
        changed_at=AT,
    )
    attempts = (
        tried(1, "failed"),
        tried(2, "failed", correction="restart"),
        tried(3, "ok", revision=1, correction="another_port", command="one\ntwo"),
    )
    revisions = (
        RevisionView(0, AUTHOR, "", AT, ()),
        RevisionView(1, AUTHOR, "the port is taken", AT, ()),
    )
    gathered = (Escalation(0, 1, AT, (Recipient.AUTHOR,)),)
    view = StepView(step, "", (), revisions, attempts, (0,), (), escalations=gathered)
    run = RunView(parse_ref("T7@web1"), 3, "web1", RunPhase.DONE, "", AT, AT, (step,))
    task = TaskView(
        ref=parse_ref("T7"),
        phase=TaskPhase.DONE,
        reason="",
        prompt="put it up",
        improved_prompt="put the web service up",
        plan_given=False,
        plan_summary="",
        steps_planned=1,
        policy=Policy(),
        created_at=AT,
        ended_at=AT,
        now=AT,
        runs=(run,),
        interventions=(),
    )
    return Report(task, (view,), 3, 2, 1, 1, 1, 12.34, {})


def test_a_dry_run_says_how_many_subtasks_would_do_what() -> None:
    """S0.17."""
    told = markdown(replace(compiled(), predictions={"would run": 2, "needs approval": 1}))
    assert "This was a dry run: nothing was changed." in told
    assert "Predictions for its subtasks: 2 would run, 1 needs approval." in told
    assert "dry run" not in markdown(compiled())


def test_it_says_what_was_done_where_errors_were_and_what_was_decided() -> None:
    """S0.80."""
    told = markdown(compiled())
    assert told.startswith("# T7: done\n\n> put it up\n")
    assert "Improved prompt: put the web service up" in told
    counts = "3 attempts, 2 failed, 1 saved by a correction, 1 escalation, 1 revision, 12.3 s."
    assert counts in told
    assert "## T7.1@web1 Start it: done" in told
    assert "Escalated after 2 errors: the evidence went to subtask_planner/runbook." in told
    assert "### Revision 1 by subtask_planner/runbook: the port is taken" in told
    assert "- **failed** T7.1.1#1@web1 (2.0 s): ``systemctl start web`` – address in use" in told
    assert "- **ok** after `another_port` T7.1.1#3@web1 (2.0 s): ``one …``" in told


def test_it_says_what_planners_looked_at() -> None:
    """A look is no attempt of a subtask and no error; the timeline says it in plain words."""
    look = tried(1, "failed", ref=parse_ref("T7.look#1@web1"), look=True, counted=False, said="")
    told = markdown(replace(compiled(), looked=1, looks=(look,)))
    assert "1 look, 3 attempts, 2 failed" in told
    heading = "## What the planner looked at\n\n- **failed** look T7.look#1@web1 (2.0 s)"
    assert heading in told
    found = words_of(Entry(AT, look.ref, AttemptEnded(look), ""))
    assert found is not None
    assert found[1:] == (Tone.PLAIN, "look (failed): systemctl start web – exit code 1")


def test_a_review_and_a_check_of_a_delivery_are_called_so() -> None:
    """A reviewer changes no file, and its verdict is what it said; other words would mislead."""
    agent = AgentLine(
        "codex", "", "", AgentStatus.OK, 0, 0, None, False, CostSource.RUNNER, 7, None, None, 0
    )
    review = tried(1, "ok", look=True, agent=agent, reason="not approved: no tests")
    check = tried(2, "ok", look=True, key="R1-1-r0-0-p1-c1.2", command="make test")
    told = [words_of(Entry(AT, each.ref, AttemptEnded(each), "")) for each in (review, check)]
    assert [each and each[2] for each in told] == [
        "review: systemctl start web – not approved: no tests",
        "check (ok): make test",
    ]
    report = markdown(replace(compiled(), looked=2, looks=(review, check)))
    assert "- **ok** review T7.1.1#1@web1" in report
    assert "- **ok** check T7.1.1#2@web1" in report
    assert "changed file" not in report


def test_the_planner_of_a_project_is_its_manager() -> None:
    report = compiled()
    (view,) = report.steps
    planner = Author(PlanningRole.PLANNER, "runbook")
    managed = replace(view, step=replace(view.step, author=planner))
    task = replace(report.task, policy=replace(report.task.policy, project=True, deliver=True))
    told = markdown(replace(report, task=task, steps=(managed,)))
    assert "Planned by manager/runbook;" in told


def test_it_says_what_a_command_left_running() -> None:
    """Whether it succeeded or not; the timeline says it in the same words."""
    ok = tried(1, "ok", left_over=("12(sleep)",))
    failed = tried(2, "failed", left_over=("13(yes)", "+3"))
    report = compiled()
    told = markdown(replace(report, steps=(replace(report.steps[0], attempts=(ok, failed)),)))
    assert "T7.1.1#1@web1 (2.0 s): ``systemctl start web`` – left running: sleep (12)" in told
    assert "– address in use – left running: yes (13) and 3 more" in told
    words = (words_of(Entry(AT, each.ref, AttemptEnded(each), "")) for each in (ok, failed))
    assert [text for found in words if found is not None for text in found[2:]] == [
        "ok: systemctl start web – left running: sleep (12)",
        "exit code 1: systemctl start web – address in use – left running: yes (13) and 3 more",
    ]


@pytest.mark.parametrize(
    ("recipients", "said"),
    [
        ((Recipient.MEMORY,), "the memory of fixes answered, and no planner was asked."),
        (
            (Recipient.HELD, Recipient.AUTHOR),
            "the evidence was held for a person to send, then the evidence went to "
            "subtask_planner/runbook.",
        ),
        ((Recipient.PERSON,), "a person was asked."),
        ((), "nobody has received the evidence yet."),
    ],
)
def test_it_says_who_really_got_the_evidence(recipients: tuple[Recipient, ...], said: str) -> None:
    report = compiled()
    (step,) = report.steps
    gathered = (Escalation(0, 1, AT, recipients),)
    told = markdown(replace(report, steps=(replace(step, escalations=gathered),)))
    assert f"Escalated after 2 errors: {said}" in told


def test_it_says_what_the_host_said_was_wrong() -> None:
    report = compiled()
    (step,) = report.steps
    held = Cause(CauseKind.PORT_HELD, "8080", 1, by="legacy.service", pid=61)
    log = Cause(
        CauseKind.LOG_LINE, "/var/log/a.log", 1, line="full\x1b]0;pwn\x07\u202e\nand # more"
    )
    gathered = (Escalation(0, 1, AT, (Recipient.PERSON,), (held, log)),)
    told = markdown(replace(report, steps=(replace(step, escalations=gathered),)))
    assert "Wrong on the host:\n\n- port 8080 is held by legacy.service (process 61)\n" in told
    assert "- the log /var/log/a.log says: full" in told
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "\nand" not in told


def test_its_parts_stand_in_the_order_in_which_they_happened() -> None:
    told = markdown(compiled())
    places = [told.index(part) for part in ("#1@web1", "#2@web1", "Escalated", "Revision 1")]
    assert places == sorted(places)


def test_what_waits_for_a_person_stands_there_with_what_to_type() -> None:
    report = compiled()
    step, kind = parse_ref("T7.1@web1"), InterventionKind.ESCALATION
    waits = InterventionView(
        1,
        step,
        kind,
        "escalate",
        "nobody knows",
        (NextStep.of("task show", "T7"),),
        AT,
        None,
        causes=tuple(Cause(CauseKind.PORT_CLOSED, str(port), 1) for port in range(1, 11)),
        rejected=RejectedDelivery(2, Rejection.CONFLICT, conflicts=("shared.txt",)),
    )
    told = markdown(replace(report, task=replace(report.task, interventions=(waits,))))
    assert "**Waits for you** (escalation): nobody knows" in told
    assert "    on the host: nothing listens on port 1\n" in told
    assert "        and 2 more\n" in told
    assert "    its delivery of pass 2 came back: It cannot be merged" in told
    assert "        Files with conflicts: shared.txt\n" in told
    assert "\n    replan task show T7" in told


ACTIVE = (
    "\n\n## What was proved\n\n[click](https://evil.example) ![](https://evil.example/x.png) "
    "<script>x</script> <https://evil.example> `a` ``b`` **done** [r]: https://evil.example "
    "&#x202e; \x1b]52;c;b3duZWQ=\x07\u202e\\"
)
"""What Markdown would make a heading, links, an image, HTML or a character of."""


def test_text_of_others_does_nothing_in_the_report() -> None:
    """Of everything that is put into it, nothing becomes more than words."""
    report = compiled()
    (step,) = report.steps
    tries = tuple(
        replace(each, said=ACTIVE, command=ACTIVE, reason=ACTIVE) for each in step.attempts
    )
    changed = tuple(replace(each, reason=ACTIVE) for each in step.revisions)
    hostile = replace(
        report,
        task=replace(report.task, prompt=ACTIVE, improved_prompt=ACTIVE, reason=ACTIVE),
        steps=(
            replace(
                step,
                step=replace(step.step, title=ACTIVE, reason=ACTIVE),
                attempts=tries,
                revisions=changed,
            ),
        ),
    )
    told = markdown(hostile)
    assert visible(told) == told
    found = [
        inner for block in MarkdownIt().parse(told) for inner in (block, *(block.children or ()))
    ]
    kinds = {each.type for each in found}
    assert kinds.isdisjoint({"link_open", "image", "html_block", "html_inline"})
    usual = [each.type for each in MarkdownIt().parse(markdown(report))]
    for counted in ("heading_open", "bullet_list_open", "blockquote_open"):
        assert [each.type for each in found].count(counted) == usual.count(counted)
    assert told.count("&#x202e;") == told.count("\\&#x202e;")


def test_a_prompt_of_several_lines_stays_one_quotation() -> None:
    report = compiled()
    told = markdown(replace(report, task=replace(report.task, prompt="one\n\n# two")))
    assert "> one\n>\n> \\# two\n" in told


def test_backticks_in_a_command_do_not_end_it() -> None:
    report = compiled()
    (step,) = report.steps
    attempts = (tried(1, "ok", command="echo ``a``", revision=1),)
    told = markdown(replace(report, steps=(replace(step, attempts=attempts),)))
    assert ": ``` echo ``a`` ```" in told
