"""A changed plan remembers the person: what its steps ask is asked before any of them runs."""

from dataclasses import replace

from orchestrator.core.decisions import (
    AddSteps,
    CloseInterventions,
    Enqueue,
    OpenIntervention,
)
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.core.state import WaitsFor
from shared.domain import facts as f
from shared.domain.jobs import JobKind
from shared.domain.plan import Step
from tests.unit.core.given import PLANNER, Run, bare, running, step


def handed_up(**policy: object) -> Run:
    """A run whose first of two steps went up to the planner of the task."""
    run = running(step(1), step(2, depends_on=(1,)), **policy)
    run.escalates()
    run.tell(f.StepHandedUp(1, 0, 1, PLANNER, "no such table"))
    return run


def revised(*steps: Step) -> f.PlanRevised:
    """The planner's answer."""
    return f.PlanRevised(1, 0, 1, 2, steps, "the table goes")


def reply(question: str, answer: str = "yes", intervention: int = 7) -> f.QuestionAnswered:
    """A person's answer to a question of the changed plan."""
    return f.QuestionAnswered(1, question, answer, intervention, "ann", 0, 1)


DROP = bare(1, ask_question="Drop the old table?", ask_options=("yes", "no"))


def test_a_question_of_a_new_step_is_asked_before_it_is_detailed_or_run() -> None:
    run = handed_up()
    decided = run.tell(revised(DROP))
    (asked,) = (d for d in decided if isinstance(d, OpenIntervention))
    assert (asked.kind, asked.reason) == (InterventionKind.QUESTION, "Drop the old table?")
    assert asked.options == ("yes", "no")
    assert run.step().waits_for is WaitsFor.ANSWER
    assert not [d for d in decided if isinstance(d, Enqueue | AddSteps)]


def test_the_answer_goes_into_the_plan_that_is_detailed_next() -> None:
    run = handed_up()
    run.tell(revised(DROP))
    decided = run.tell(reply("Drop the old table?", "no"))
    assert CloseInterventions(1) in decided
    assert [d.kind for d in decided if isinstance(d, Enqueue)] == [JobKind.DETAIL]
    draft = run.step().draft
    assert draft is not None
    assert draft.steps[0].answer == "no"
    assert run.step().waits_for is None


def test_a_step_that_is_whole_begins_with_the_answer() -> None:
    run = handed_up()
    run.tell(revised(replace(DROP, subtasks=step().subtasks)))
    decided = run.tell(reply("Drop the old table?", "yes"))
    (added,) = (d for d in decided if isinstance(d, AddSteps))
    assert added.steps[0].answer == "yes"
    assert run.phases() == ["replaced", "replaced", "ready"]


def test_all_questions_are_asked_at_once_and_each_is_answered_by_itself() -> None:
    run = handed_up()
    second = bare(2, ask_question="Which port?")
    decided = run.tell(revised(DROP, second))
    assert len([d for d in decided if isinstance(d, OpenIntervention)]) == 2
    assert run.tell(reply("Which port?", "9090", 8)) == (CloseInterventions(1, intervention=8),)
    assert run.step().waits_for is WaitsFor.ANSWER
    assert run.tell(reply("Which port?", "9090", 8)) == (), "it is answered already"
    decided = run.tell(reply("Drop the old table?"))
    assert [d.kind for d in decided if isinstance(d, Enqueue)] == [JobKind.DETAIL]
    draft = run.step().draft
    assert draft is not None
    assert [each.answer for each in draft.steps] == ["yes", "9090"]


def test_a_question_that_two_steps_ask_is_asked_once() -> None:
    run = handed_up()
    decided = run.tell(revised(DROP, replace(DROP, ordinal=2, key="again")))
    assert len([d for d in decided if isinstance(d, OpenIntervention)]) == 1
    decided = run.tell(reply("Drop the old table?"))
    assert [d.kind for d in decided if isinstance(d, Enqueue)] == [JobKind.DETAIL]


def test_an_answer_to_an_older_plan_makes_the_planner_look_again() -> None:
    """Another step has changed the plan meanwhile: the planner hears of it, and of the answer."""
    run = handed_up()
    run.tell(revised(DROP))
    run.state = replace(run.state, steps={**run.state.steps, 3: replace(run.step(2), ordinal=3)})
    decided = run.tell(reply("Drop the old table?"))
    assert [d.kind for d in decided if isinstance(d, Enqueue)] == [JobKind.REPLAN]
    assert run.step().draft is None


def test_a_resumption_does_not_stand_for_the_answer() -> None:
    run = handed_up()
    run.tell(revised(DROP))
    run.tell(f.ResumeRequested())
    assert run.step().waits_for is WaitsFor.ANSWER
