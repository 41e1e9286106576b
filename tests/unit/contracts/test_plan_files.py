"""A plan file becomes the plan that it says, with what was left out filled in."""

import pytest

from shared.contracts.planfile import load_plan, load_revision
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.plan import OnFailure, Plan, Recovery, SubtaskKind

POLICY = Policy(subtask_timeout=42)

WHOLE = """\
summary: All that a plan file can say
planner: runbook
steps:
  - id: first
    title: The first step
    instruction: Bring it about.
    parallel_group: look
    on_failure: continue
    recovery: retry
    planner: anthropic
    subtasks:
      - id: one
        title: One
        run: echo one
        check: test -e one
        timeout: 90s
        preconditions: [test -d /, command -v echo]
        critical: true
        rollback: rm -f one
        idempotent: true
      - command: result = 2
        kind: code
        needs: []
  - title: The second step
    depends_on: [first]
    subtasks:
      - run: |
          echo two
          echo three
"""


def plan_of(text: str) -> Plan:
    return load_plan(text, policy=POLICY)


def timeout_of(text: str) -> float:
    return (
        plan_of(f"steps: [{{title: s, subtasks: [{{run: 'true', timeout: {text}}}]}}]")
        .steps[0]
        .subtasks[0]
        .timeout
    )


def test_everything_that_a_plan_file_says_is_in_the_plan() -> None:
    plan = plan_of(WHOLE)
    assert plan.summary == "All that a plan file can say"
    first, second = plan.steps
    assert (first.ordinal, first.key, first.title) == (1, "first", "The first step")
    assert (first.instruction, first.parallel_group) == ("Bring it about.", "look")
    assert (first.on_failure, first.recovery) == (OnFailure.CONTINUE, Recovery.RETRY)
    assert first.author == Author(PlanningRole.SUBTASK_PLANNER, "anthropic")
    one, two = first.subtasks
    assert (one.key, one.title, one.command, one.check) == ("one", "One", "echo one", "test -e one")
    assert (one.timeout, one.preconditions) == (90.0, ("test -d /", "command -v echo"))
    assert (one.critical, one.rollback, one.idempotent) == (True, "rm -f one", True)
    assert (one.kind, two.kind) == (SubtaskKind.COMMAND, SubtaskKind.CODE)
    assert (second.key, second.depends_on) == ("2", (1,))
    assert second.author == Author(PlanningRole.SUBTASK_PLANNER, "runbook")


def test_what_is_left_out_is_filled_in() -> None:
    first, second = plan_of(WHOLE).steps
    two = first.subtasks[1]
    three = second.subtasks[0]
    assert (two.key, two.title, two.timeout, two.needs) == ("2", "result = 2", 42.0, ())
    assert (three.title, three.check, three.rollback) == ("echo two", None, None)
    assert (second.instruction, second.parallel_group) == ("", None)
    assert (second.on_failure, second.recovery) == (OnFailure.STOP, Recovery.REPLAN)


def test_a_subtask_needs_the_one_before_it_unless_it_says_otherwise() -> None:
    """X3."""
    steps = (
        "steps: [{title: s, subtasks: [{id: a, run: a}, {id: b, run: b}, {run: c, needs: [a]}]}]"
    )
    assert [s.needs for s in plan_of(steps).steps[0].subtasks] == [(), ("a",), ("a",)]


def test_a_step_depends_on_the_step_or_the_group_before_it() -> None:
    step = "{{title: t, subtasks: [{{run: 'true'}}]{}}}"
    more = ["", ", parallel_group: g", ", parallel_group: g", "", ", depends_on: []"]
    plan = plan_of(f"steps: [{', '.join(step.format(text) for text in more)}]")
    assert [s.depends_on for s in plan.steps] == [(), (1,), (1,), (2, 3), ()]


@pytest.mark.parametrize(
    ("planner", "author", "recovery"),
    [
        (None, Author(PlanningRole.HUMAN, "human"), Recovery.RETRY),
        ("human", Author(PlanningRole.HUMAN, "human"), Recovery.REPLAN),
        ("runbook", Author(PlanningRole.SUBTASK_PLANNER, "runbook"), Recovery.REPLAN),
        ("anthropic", Author(PlanningRole.SUBTASK_PLANNER, "anthropic"), Recovery.REPLAN),
    ],
)
def test_who_planned_a_step_decides_what_follows_its_failure(
    planner: str | None, author: Author, recovery: Recovery
) -> None:
    """X6: a plan by hand is tried again, one by a planner goes back to it."""
    line = "" if planner is None else f"planner: {planner}\n"
    (step,) = plan_of(f"{line}steps: [{{title: s, subtasks: [{{run: 'true'}}]}}]").steps
    assert (step.author, step.recovery) == (author, recovery)


@pytest.mark.parametrize("recovery", list(Recovery))
@pytest.mark.parametrize("planner", ["human", "runbook", None])
def test_recovery_can_be_said_whoever_planned(planner: str | None, recovery: Recovery) -> None:
    """X6: either can be set."""
    named = "" if planner is None else f"planner: {planner}, "
    (step,) = plan_of(
        f"steps: [{{title: s, {named}recovery: {recovery}, subtasks: [{{run: 'true'}}]}}]"
    ).steps
    assert step.recovery is recovery


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2", 2),
        ("0.5", 0.5),
        ("'90'", 90),
        ("90s", 90),
        ("5m", 300),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("' 5m '", 300),
        ("24h", 86_400),
    ],
)
def test_a_timeout_may_be_seconds_or_have_a_unit(text: str, seconds: float) -> None:
    assert timeout_of(text) == seconds


LISTED = "- {id: a, run: one}\n- {run: two, timeout: 5s}\n"
FORMS = {
    "a list": LISTED,
    "a mapping": "subtasks:\n" + LISTED,
    "a plan of one step": "steps:\n- title: s\n  subtasks:\n" + LISTED.replace("- ", "  - "),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_revision_may_be_given_in_three_forms(form: str) -> None:
    first, second = load_revision(FORMS[form], policy=POLICY)
    assert (first.key, first.command, first.timeout) == ("a", "one", 42.0)
    assert (second.command, second.needs, second.timeout) == ("two", ("a",), 5.0)
