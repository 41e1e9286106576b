"""A pass is carried out by any means: tries, threshold, evidence, rollbacks, without a shell."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace

import pytest

from shared.domain.approval import SubtaskPart
from shared.domain.attempt import Attempt, EndedBy
from shared.domain.author import Author, PlanningRole
from shared.domain.budget import Ending
from shared.domain.config import PLAN, Policy
from shared.domain.errors import Rejected
from shared.domain.host import LOCALHOST
from shared.domain.outcome import Outcome
from shared.domain.plan import Plan, Revision, SubtaskKind
from shared.domain.prediction import Prediction
from shared.secrets.sent import as_sent
from tests.fakes.scripted_means import ScriptedMeans, Workshop
from tests.unit.passes.given import Approving, MemoryLog, SteppingClock, order, subtask
from workers.passes.means import Try
from workers.passes.passes import carry_out
from workers.passes.ports import PassOrder, PassResult, Undo
from workers.passes.to_undo import to_undo
from workers.roles.escalation import compose
from workers.store import StepBrief, TaskBrief

WORKS: Mapping[str, str] = {"write": "written", "test": "tested", "write again": "written"}


def passed(
    what: PassOrder,
    workshop: Workshop,
    log: MemoryLog | None = None,
    *,
    approved: tuple[str, ...] = (),
    **means: object,
) -> tuple[PassResult, list[Attempt]]:
    """Carry out a pass in the workshop; how it ended, and its attempts."""
    log = log or MemoryLog()
    made = ScriptedMeans(workshop, log, **means)  # type: ignore[arg-type]
    approvals = Approving(lambda text: text in approved)
    result = carry_out(what, made, log, SteppingClock(), approvals=approvals, settle=())
    return result, log.ended


def outcomes(attempts: list[Attempt]) -> list[tuple[int, Outcome]]:
    return [(each.subtask, each.outcome) for each in attempts]


def test_all_goes_well() -> None:
    """If the check is already green, no work is done."""
    workshop = Workshop(WORKS, {"there"})
    what = order(subtask("write", check="written"), subtask("x", "s2", check="there"), "test")
    result, attempts = passed(what, workshop)
    assert result.ending is Ending.DONE
    assert workshop.done == ["write", "test"]
    assert outcomes(attempts) == [
        (1, Outcome.OK),
        (2, Outcome.SATISFIED),
        (3, Outcome.OK),
    ]
    assert [each.never_red for each in attempts] == [False, True, False]


def test_a_remedy_is_tried_and_counts() -> None:
    """The failure is an error; what the means proposes instead is another attempt."""
    workshop = Workshop(WORKS)
    result, attempts = passed(
        order("wrte", "test"), workshop, remedies={"wrte": ("spell", "write")}
    )
    assert (result.ending, result.errors) == (Ending.DONE, 1)
    assert workshop.done == ["wrte", "write", "test"]
    assert [(a.command, a.correction, a.try_no) for a in attempts] == [
        ("wrte", None, 0),
        ("write", "spell", 1),
        ("test", None, 0),
    ]


class Insisting(ScriptedMeans):
    """Has the same remedy for ever, whatever became of it."""

    def remedy(self, *_: object, **__: object) -> Try:
        """Wait for what is asked."""
        return Try("ask", "waited")


def test_a_remedy_that_was_refused_does_not_come_back() -> None:
    """Nothing else ends such a pass: a refusal is no error, and waiting uses up no retry."""
    log = MemoryLog(stop=lambda log: len(log.ended) > 9)
    means = Insisting(Workshop(WORKS), log, asked={"ask"})
    result = carry_out(order("wrte"), means, log, SteppingClock(), settle=())
    assert [(a.outcome, a.correction) for a in log.ended] == [
        (Outcome.FAILED, None),
        (Outcome.NEEDS_APPROVAL, "waited"),
    ]
    assert (result.ending, result.errors) == (Ending.INCOMPLETE, 1)
    assert (
        carry_out(order("wrte", earlier=log.ended), means, log, SteppingClock(), settle=()).ending
        is Ending.INCOMPLETE
    )
    assert len(log.ended) == 2


def test_the_threshold_ends_the_pass() -> None:
    """Nothing after it starts."""
    policy = Policy(error_threshold_per_step=2)
    each = [subtask(f"fail {n}", f"s{n}", needs=()) for n in range(1, 5)]
    workshop = Workshop()
    result, attempts = passed(order(*each, policy=policy), workshop)
    assert (result.ending, result.errors) == (Ending.THRESHOLD, 2)
    assert workshop.done == ["fail 1", "fail 2"]
    assert len(attempts) == 2


def test_its_evidence_makes_a_bundle() -> None:
    """With what was tried, by whatever means."""
    what = order("wrte", policy=Policy(error_threshold_per_step=2))
    _, attempts = passed(what, Workshop(), remedies={"wrte": ("spell", "writ")})
    task = TaskBrief(1, "do it", None, what.policy, Plan((what.step,)), ("localhost",))
    first = Revision(1, 0, what.step.author, what.subtasks)
    brief = StepBrief(
        task,
        what.run_id,
        LOCALHOST.name,
        LOCALHOST,
        what.step,
        what.step.author,
        (first,),
        tuple(attempts),
        "errors",
        Plan((what.step,)),
        {1: "error"},
    )
    bundle = compose(brief, {})
    assert [(a.command, a.correction) for a in bundle.attempts] == [
        ("wrte", None),
        ("writ", "spell"),
    ]
    assert bundle.attempts[0].stdout == "wrte: error"
    assert any("spell" in sentence for sentence in bundle.hypotheses)


def test_a_revision_undoes_what_ran_and_goes_on() -> None:
    """A rollback is an attempt of the same kind, and no error."""
    workshop = Workshop({**WORKS, "unwrite": "clean"})
    old = (subtask("write", rollback="unwrite"), subtask("fail", "s2"))
    first = order(*old)
    _, attempts = passed(first, workshop)
    author = Author(PlanningRole.SUBTASK_PLANNER, "runbook")
    revisions = (
        Revision(1, 0, author, first.step.subtasks),
        Revision(1, 1, author, order("write again").step.subtasks, rollback=("s1",)),
    )
    undo = to_undo(revisions, attempts)
    again = order("write again", revision=1, pass_no=2, earlier=attempts, undo=undo)
    result, tried = passed(again, workshop)
    assert (result.ending, result.errors) == (Ending.DONE, 0)
    assert workshop.done == ["write", "fail", "unwrite", "write again"]
    assert [(a.command, a.rollback, a.revision, a.number) for a in tried] == [
        ("unwrite", True, 0, 2),
        ("write again", False, 1, 3),
    ]


def test_a_rollback_that_fails_stops_the_revision() -> None:
    undo = (Undo(0, as_sent(subtask("cannot"))),)
    workshop = Workshop(WORKS)
    result, _ = passed(order("write", revision=1, undo=undo), workshop)
    assert result.ending is Ending.ROLLBACK_FAILED
    assert workshop.done == ["cannot"]


def test_a_dry_run_predicts_and_does_nothing() -> None:
    """Each by itself; a text that may change something does not run."""
    what = order(
        subtask("a", check="there"),
        subtask("b", "s2", check="absent"),
        subtask("c", "s3", preconditions=("absent",)),
        subtask("d", "s4", check="by changing"),
        subtask("never", "s5"),
        subtask("e", "s6", critical=True),
        policy=Policy(dry_run_mode=True),
    )
    workshop = Workshop(WORKS, {"there"})
    result, attempts = passed(what, workshop, denied={"never"}, changing={"by changing"})
    assert result.ending is Ending.BLOCKED
    assert workshop.done == []
    assert [each.prediction for each in attempts] == [
        Prediction.SATISFIED,
        Prediction.WOULD_RUN,
        Prediction.PRECONDITION_UNMET,
        Prediction.UNKNOWN,
        Prediction.DENIED,
        Prediction.NEEDS_APPROVAL,
    ]


def test_the_next_driver_goes_on_where_the_first_was_lost() -> None:
    """It waits for what the first driver started, remedies too, and does not start it again."""
    workshop = Workshop(WORKS)
    what = order("wrte", "test")
    lost = MemoryLog()
    passed(what, workshop, lost, remedies={"wrte": ("spell", "write")})
    assert workshop.done == ["wrte", "write", "test"]
    # Of what the first driver wrote, only the first attempt was stored.
    resumed = replace(what, earlier=tuple(lost.ended[:1]))
    result, attempts = passed(resumed, workshop, resumed=True)
    assert (result.ending, result.errors) == (Ending.DONE, 1)
    assert workshop.done == ["wrte", "write", "test"]
    assert [(a.command, a.correction) for a in attempts] == [("write", "spell"), ("test", None)]


def test_a_person_is_asked_before_what_the_guard_does_not_allow() -> None:
    """Text by text; an approved text runs once it is cleared."""
    what = order(subtask("write", check="written"), "test")
    workshop = Workshop(WORKS)
    result, _ = passed(what, workshop, asked={"write"})
    assert result.ending is Ending.NEEDS_APPROVAL
    assert [(u.part, u.text) for u in result.unapproved] == [(SubtaskPart.COMMAND, "write")]
    assert workshop.done == []
    result, _ = passed(what, workshop, asked={"write"}, approved=("write",))
    assert result.ending is Ending.DONE


def test_under_autonomy_plan_every_command_is_asked_for_at_once() -> None:
    result, _ = passed(order("write", "test", policy=Policy(autonomy=PLAN)), Workshop(WORKS))
    assert [u.text for u in result.unapproved] == ["write", "test"]


def test_an_attempt_that_an_operator_ends_has_failed_and_is_not_remedied() -> None:
    log = MemoryLog(unwanted_keys={"R7-1-r0-1-p1-t0"})
    workshop = Workshop(WORKS)
    result, attempts = passed(order("write"), workshop, log, remedies={"write": ("x", "test")})
    assert result.ending is Ending.INCOMPLETE
    assert [(a.outcome, a.ended_by) for a in attempts] == [(Outcome.FAILED, EndedBy.OPERATOR)]
    assert workshop.done == []


def test_a_cancelled_pass_begins_nothing() -> None:
    workshop = Workshop(WORKS)
    result, _ = passed(order("write"), workshop, MemoryLog(stop=lambda _: True))
    assert result.ending is Ending.CANCELLED
    assert workshop.done == []


def test_what_no_means_carries_out_is_rejected_before_anything_begins() -> None:
    workshop = Workshop(WORKS)
    with pytest.raises(Rejected, match="kind code"):
        passed(order("write", subtask("result = 1", "s2", kind=SubtaskKind.CODE)), workshop)
    assert workshop.done == []


def test_passes_load_no_shell() -> None:
    """Not even behind the back of the contracts, in a function."""
    script = (
        "import sys, workers.passes.passes, workers.passes.to_undo\n"
        "print([m for m in sys.modules if m.startswith('workers.shells')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
