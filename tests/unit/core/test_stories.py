"""Whole stories from the requirements, told fact by fact."""

from orchestrator.core.decisions import Enqueue, OpenIntervention
from orchestrator.core.intervention_kind import InterventionKind
from shared.domain.approval import ApprovalRequest, Subject, SubtaskPart, SubtaskPlace
from shared.domain.author import PlanningRole
from shared.domain.budget import Ending
from shared.domain.facts import PassFinished, ResumeRequested
from shared.domain.host import LOCALHOST
from shared.domain.jobs import JobKind, QueueName, queue_of
from shared.domain.plan import Recovery
from shared.domain.task import COARSE, RunPhase, StepPhase
from tests.unit.core.given import PLANNER, Run, running, step


def asked(run: Run) -> list[tuple[JobKind, QueueName]]:
    """The jobs last decided on, each with the queue it goes to."""
    return [(d.kind, queue_of(d.kind, d.role)) for d in run.decided if isinstance(d, Enqueue)]


def opened(run: Run) -> list[InterventionKind]:
    """The interventions last opened."""
    return [d.kind for d in run.decided if isinstance(d, OpenIntervention)]


def test_installing_postgresql_with_a_missing_repository() -> None:
    """S0.89-S0.93: the fourth failed attempt sends the evidence to the planner; its plan works."""
    run = running(step(title="Install PostgreSQL"))
    run.pass_starts()
    run.pass_ends(Ending.THRESHOLD, errors=4, reason="4 errors")
    assert asked(run) == [(JobKind.GATHER, QueueName.ESCALATION)]
    run.bundle_is_ready()
    assert asked(run) == [(JobKind.REVISE, QueueName.SUBTASK_PLANNING)]
    run.is_revised()
    assert asked(run) == [(JobKind.EXECUTE, QueueName.EXECUTION)]
    assert run.step().errors == 0
    run.pass_starts()
    run.pass_ends(Ending.DONE)
    assert (run.phase(), run.state.phase) == (StepPhase.DONE, RunPhase.DONE)


def test_a_step_of_the_main_planner_goes_back_to_the_main_planner() -> None:
    """S0.47, D.7: the bundle goes to the queue of the role that planned the step."""
    run = running(step(author=PLANNER))
    run.escalates()
    assert asked(run) == [(JobKind.REVISE, QueueName.PLANNING)]


def test_after_three_revisions_without_success_a_human_is_asked() -> None:
    """S0.59 with its example: three revisions are tried, the fourth failure goes to a human."""
    run = running()
    for revision in range(3):
        assert run.step().revision == revision
        run.escalates()
        assert asked(run) == [(JobKind.REVISE, QueueName.SUBTASK_PLANNING)]
        run.is_revised()
    run.escalates()
    assert asked(run) == []
    assert opened(run) == [InterventionKind.ESCALATION]
    assert (run.step().revision, run.step().pass_no) == (3, 4)
    assert run.state.phase is RunPhase.WAITING


def test_a_human_revises_and_is_asked_again_at_the_next_failure() -> None:
    """The revisions stay counted when a human has written one; resume does not clear them."""
    run = running(human_escalation_threshold=1)
    run.escalates()
    run.is_revised()
    run.escalates()
    run.is_revised(author=run.step().author)
    assert run.step().revision == 2
    run.escalates()
    assert opened(run) == [InterventionKind.ESCALATION]


def test_task_005_fails_once_and_is_run_again() -> None:
    """S1.6, S1.19, S1.22: Running, Error on record, NotStarted, Running, Done."""
    run = running(step(recovery=Recovery.RETRY), step(2, depends_on=(1,)))
    seen = [COARSE[run.phase()]]
    run.pass_starts()
    seen.append(COARSE[run.phase()])
    run.pass_ends(Ending.INCOMPLETE, errors=1, reason="no access")
    seen.append(COARSE[run.phase()])
    assert (run.step().failures, run.step().reason) == (1, "no access")
    run.pass_starts()
    seen.append(COARSE[run.phase()])
    run.pass_ends(Ending.DONE)
    seen.append(COARSE[run.phase()])
    assert seen == ["NotStarted", "Running", "NotStarted", "Running", "Done"]
    assert run.phase(2) is StepPhase.READY


def test_three_failures_wait_for_a_human_whose_resume_completes_the_flow() -> None:
    """S1.10, S1.20, S1.21, X5: failures 1 and 2 are tried again, the third waits with the count 3.

    After the resume three failures are allowed anew.
    """
    run = running(step(recovery=Recovery.RETRY))
    for _ in range(2):
        for failures in (1, 2):
            run.pass_ends(Ending.INCOMPLETE, errors=1)
            assert (run.step().failures, run.phase()) == (failures, StepPhase.READY)
        run.pass_ends(Ending.INCOMPLETE, errors=1)
        run.bundle_is_ready()
        assert run.step().failures == 3
        assert COARSE[run.phase()] == "Error"
        assert run.state.phase is RunPhase.WAITING
        run.tell(ResumeRequested())
        assert (run.step().failures, run.phase()) == (0, StepPhase.READY)
    run.pass_ends(Ending.DONE)
    assert run.state.phase is RunPhase.DONE
    assert run.step().pass_no == 7


def test_resume_does_not_clear_what_the_planner_has_used_up() -> None:
    """S0.59 after S1.13: counters are cleared, revisions are history; one pass, then a human."""
    run = running(human_escalation_threshold=1)
    run.escalates()
    run.is_revised()
    run.escalates()
    run.tell(ResumeRequested())
    assert run.step().revision == 1
    run.escalates()
    assert opened(run) == [InterventionKind.ESCALATION]


def test_a_step_given_by_hand_can_be_handed_to_a_planner() -> None:
    """X6: either recovery can be set; with `replan` a plan by hand is revised by its author."""
    run = running(step(recovery=Recovery.REPLAN))
    run.escalates()
    assert [d.role for d in run.decided if isinstance(d, Enqueue)] == [PlanningRole.SUBTASK_PLANNER]


def test_put_offs_wait_longer_each_time_and_end() -> None:
    """Eight put-offs (the default), doubling from 2 s to the ceiling; the ninth failure waits."""
    run = running(retry_jitter=0.0)
    delays = []
    for _ in range(8):
        run.job_fails(JobKind.EXECUTE)
        delays += [d.delay for d in run.decided if isinstance(d, Enqueue)]
    assert delays == [2, 4, 8, 16, 32, 64, 128, 256]
    run.job_fails(JobKind.EXECUTE)
    assert opened(run) == [InterventionKind.OPERATOR]
    assert (run.step().errors, run.step().failures, run.step().pass_no) == (0, 0, 1)


def test_the_question_carries_what_would_run_and_where() -> None:
    """What a person is shown is what the executor asked for, to the last byte."""
    subject = Subject(1, SubtaskPlace(1, 0, 1), "frobnicate --now", LOCALHOST, "v1")
    texts = (
        ApprovalRequest(
            SubtaskPart.COMMAND, subject, "unknown-program", "nobody knows it", "frobnicate"
        ),
    )
    decided = running().tell(PassFinished(1, 0, 1, Ending.NEEDS_APPROVAL, 0, "r", texts))
    (question,) = (d for d in decided if isinstance(d, OpenIntervention))
    assert (question.kind, question.asked) == (InterventionKind.APPROVAL, texts)


def test_one_step_is_resumed_and_no_other() -> None:
    """S2.56: its counters are cleared and it runs again; what else failed stays as it is."""
    run = running(step(1, recovery=Recovery.RETRY), step(2, recovery=Recovery.RETRY))
    for ordinal in (1, 2):
        for _ in range(3):
            run.pass_ends(Ending.INCOMPLETE, ordinal=ordinal, errors=1)
        run.bundle_is_ready(ordinal)
    run.tell(ResumeRequested(2))
    assert (run.step(2).failures, run.phase(2)) == (0, StepPhase.READY)
    assert (run.step(1).failures, run.phase(1)) == (3, StepPhase.WAITING)
    assert run.tell(ResumeRequested(2)) == ()
    assert run.tell(ResumeRequested(9)) == ()
