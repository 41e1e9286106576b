"""A model's answer becomes a plan, subtasks, or a complaint that the model can act on."""

from typing import Any

import pytest
from pydantic import ValidationError

from shared.contracts.answers import DetailAnswer, PlanAnswer, RefineAnswer, RevisionAnswer
from shared.contracts.complaints import Document, describe
from shared.domain.author import Author, PlanningRole
from shared.domain.errors import Rejected
from shared.domain.plan import OnFailure, Recovery, SubtaskKind
from tests.unit.planning.given import (
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)

AUTHOR = Author(PlanningRole.PLANNER, "anthropic")


def complaint(kind: type[Document], answer: Any) -> str:
    with pytest.raises(ValidationError) as raised:
        kind.model_validate(answer)
    return describe(raised.value)


def test_the_steps_of_a_plan_get_numbers_and_their_author() -> None:
    answer = plan_answer(
        step_answer("look", parallel_group="eyes", on_failure="continue"),
        step_answer("act", depends_on=["look"]),
    )
    plan = PlanAnswer.model_validate(answer).plan(AUTHOR)
    look, act = plan.steps
    assert plan.summary == "As asked"
    assert (look.ordinal, look.key, look.parallel_group) == (1, "look", "eyes")
    assert look.on_failure is OnFailure.CONTINUE
    assert (act.ordinal, act.depends_on, act.parallel_group) == (2, (1,), None)
    assert {s.author for s in plan.steps} == {AUTHOR}
    assert {s.recovery for s in plan.steps} == {Recovery.REPLAN}


def test_a_models_step_that_runs_alone_waits_for_its_group() -> None:
    """S3.8: whatever `depends_on` says, which a model always gives."""
    answer = plan_answer(
        step_answer("look", parallel_group="eyes"),
        step_answer("see", parallel_group="eyes", parallelizable=False),
        step_answer("watch", parallel_group="eyes"),
    )
    plan = PlanAnswer.model_validate(answer).plan(AUTHOR)
    assert [s.depends_on for s in plan.steps] == [(), (1,), (2,)]


def test_a_step_may_depend_on_a_later_one() -> None:
    answer = plan_answer(step_answer("last", depends_on=["first"]), step_answer("first"))
    plan = PlanAnswer.model_validate(answer).plan(AUTHOR)
    assert [s.depends_on for s in plan.steps] == [(2,), ()]


def test_an_empty_text_stands_for_what_is_not_there() -> None:
    (subtask,) = DetailAnswer.model_validate(
        detail_answer(subtask_answer("a", "echo a", check=" ", rollback=""))
    ).to_subtasks()
    assert (subtask.check, subtask.rollback) == (None, None)
    assert subtask.kind is SubtaskKind.COMMAND


def test_all_that_a_subtask_says_is_kept() -> None:
    answer = subtask_answer(
        "b",
        "echo b",
        check="test b",
        timeout_seconds=12.5,
        preconditions=["test -d /"],
        needs=["a"],
        critical=True,
        rollback="undo b",
        idempotent=False,
    )
    revision = RevisionAnswer.model_validate(revision_answer(subtask_answer("a"), answer))
    subtask = revision.to_subtasks()[1]
    assert (subtask.ordinal, subtask.key, subtask.command) == (2, "b", "echo b")
    assert (subtask.check, subtask.timeout) == ("test b", 12.5)
    assert (subtask.preconditions, subtask.needs) == (("test -d /",), ("a",))
    assert (subtask.critical, subtask.rollback, subtask.idempotent) == (True, "undo b", False)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (plan_answer(step_answer("a", depends_on=["b"])), "'b'"),
        (plan_answer(step_answer("a", depends_on=["a"])), "circle"),
        (plan_answer(step_answer("a"), step_answer("a")), "twice"),
        (plan_answer(), "no steps"),
    ],
)
def test_steps_that_do_not_fit_together_are_rejected(answer: Any, says: str) -> None:
    with pytest.raises(Rejected, match=says):
        PlanAnswer.model_validate(answer).plan(AUTHOR)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (detail_answer(), "no subtasks"),
        (detail_answer(subtask_answer("a", needs=["b"])), "'b', which is unknown"),
        (detail_answer(subtask_answer("a"), subtask_answer("a")), "twice"),
        (
            detail_answer(subtask_answer("a", needs=["b"]), subtask_answer("b", needs=["a"])),
            "circle",
        ),
    ],
)
def test_subtasks_that_do_not_fit_together_are_rejected(answer: Any, says: str) -> None:
    with pytest.raises(Rejected, match=says):
        DetailAnswer.model_validate(answer).to_subtasks()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"command": " "}, "subtasks[0].command: is empty"),
        ({"command": "a\0b"}, "subtasks[0].command: the character U+0000"),
        ({"command": None}, "subtasks[0].command: None is not text"),
        ({"timeout_seconds": "5m"}, "subtasks[0].timeout_seconds: "),
        ({"timeout_seconds": -1}, "-1 is too small; at least 0.1"),
        ({"critical": "no"}, "'no' is neither true nor false"),
        ({"id": "two words"}, "'two words' is not a name"),
        ({"needs": [1]}, "subtasks[0].needs[0]: 1 is not text"),
        ({"preconditions": "test"}, "'test' is not a list"),
        ({"precondition": []}, "unknown; did you mean 'preconditions'?"),
    ],
)
def test_what_is_wrong_with_a_subtask_is_told(changes: dict[str, Any], says: str) -> None:
    answer = detail_answer(subtask_answer("a", **changes))
    assert says in complaint(DetailAnswer, answer)


def test_an_improved_prompt_may_not_be_empty() -> None:
    assert "prompt: may not be empty" in complaint(RefineAnswer, {"prompt": ""})
