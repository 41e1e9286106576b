"""What a developer whose delivery was rejected is told (S3.36-S3.40)."""

import json

from shared.contracts.project import DevTask
from shared.domain.agent import AgentWork
from shared.domain.author import Author, PlanningRole
from shared.domain.delivery import Rejection
from shared.domain.plan import Step, Subtask, SubtaskKind
from shared.domain.rejected_delivery import RejectedDelivery
from workers.agents.development import dev_task
from workers.agents.task_text import Assignment

WORK = Subtask(
    1,
    "sum",
    "Write sum",
    "Write sum.sh.",
    kind=SubtaskKind.AGENT,
    agent=AgentWork(acceptance=("It exits with 0.",)),
)
STEP = Step(1, "sum", "Write sum", "Write sum.sh.", Author(PlanningRole.PLANNER, "anthropic"))
REVIEWED = RejectedDelivery(
    1,
    Rejection.REVIEWER,
    "The sum is wrong for an empty file.",
    rejected_by="claude-code",
    comments=("sum.sh:3 prints nothing for an empty file.",),
)
RED = RejectedDelivery(2, Rejection.CHECK, output="$ sh tests/run.sh\nexpected 0")
CONFLICT = RejectedDelivery(3, Rejection.CONFLICT, conflicts=("sum.sh", "README.md"))


def in_text(text: str) -> DevTask:
    """The development task in the text of an assignment."""
    start = text.index("{\n")
    return DevTask.model_validate(json.JSONDecoder().raw_decode(text[start:])[0])


def assignment(*rejections: RejectedDelivery) -> str:
    task = dev_task(STEP, (WORK,), rejections=rejections, max_attempts=3)
    return str(Assignment("Write sum.sh.", dev_task=task))


def test_the_text_of_a_developer_carries_its_task() -> None:
    """S3.31, S3.32, S3.35, S3.36."""
    task = in_text(assignment())
    assert (task.id, task.title, task.description) == ("sum", "Write sum", "Write sum.sh.")
    assert task.acceptance_criteria == ["It exits with 0."]
    assert (task.status, task.attempt, task.max_attempts) == ("running", 1, 3)
    assert task.rejection_history == []
    assert "rejection_history" not in assignment()


def test_the_text_of_the_next_pass_says_why_each_delivery_was_rejected() -> None:
    """S3.38-S3.40: the verdict, the comments, the output of red checks, the files in conflict."""
    text = assignment(REVIEWED, RED, CONFLICT)
    task = in_text(text)
    assert (task.attempt, task.max_attempts) == (4, 4)
    assert task.review_verdict == "rejected"
    first, second, third = task.rejection_history
    assert "claude-code" in first
    assert "- sum.sh:3 prints nothing for an empty file." in first
    assert "expected 0" in second
    assert "sum.sh, README.md" in third
    assert "Put right everything" in text


def test_the_comments_of_the_last_review_are_those_of_the_task() -> None:
    """S3.39."""
    task = dev_task(STEP, (WORK,), rejections=(REVIEWED,), max_attempts=3)
    assert task.review_comments == ["sum.sh:3 prints nothing for an empty file."]


def test_a_long_rejection_is_cut() -> None:
    long = RejectedDelivery(1, Rejection.CHECK, output="x" * 50_000)
    (told,) = dev_task(STEP, (WORK,), rejections=(long,), max_attempts=3).rejection_history
    assert len(told) < 9_000
    assert "more characters" in told


def test_work_that_is_not_delivered_has_the_text_that_it_always_had() -> None:
    assert str(Assignment("Write sum.sh.")) == "Write sum.sh."
