"""What the passes over a step do about an agent that broke the protocol of autonomous work."""

import re
from dataclasses import dataclass, field, replace

from structlog.testing import capture_logs

from shared.domain.agent import AgentWork, Compliance, ExecutionMode
from shared.domain.attempt import AgentResult, Attempt
from shared.domain.attempt_notes import TaskValidated
from shared.domain.budget import Ending
from shared.domain.outcome import Outcome
from shared.domain.plan import SubtaskKind
from shared.secrets.sent import as_sent
from tests.fakes.scripted_agents import ScriptedBench, ScriptedRunner
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import (
    MemoryLog,
    ScriptedJudge,
    SteppingClock,
    order,
    shell_means,
    subtask,
)
from workers.agents.assigning import Assigning
from workers.agents.means import AgentMeans
from workers.agents.runners.port import Capabilities
from workers.agents.running import AgentRuns
from workers.passes.passes import carry_out
from workers.passes.ports import PassResult

STRICT = AgentWork(
    runner="one",
    mode=ExecutionMode.AUTONOMOUS,
    compliance=Compliance(fail_on_violation=True),
)
GOAL = subtask("mend it", kind=SubtaskKind.AGENT, agent=STRICT, check="look")
ASKS, OBEYS = "ask Which one?\nend ok guessed\n", "end ok decided\n"


@dataclass
class Step:
    """A step with one goal: its agents say these streams in turn, and each leaves the check green.

    `tasks` are the texts that they were given.
    """

    streams: list[str]
    earlier: list[Attempt] = field(default_factory=list)
    validations: list[TaskValidated] = field(default_factory=list)
    runner: ScriptedRunner = field(
        default_factory=lambda: ScriptedRunner("one", capabilities=Capabilities(events=True))
    )

    def carry_out(
        self, pass_no: int, work: AgentWork = STRICT, revision: int = 0
    ) -> tuple[PassResult, list[Attempt]]:
        """One pass; the check is red until the first agent has ended."""
        goal = replace(GOAL, agent=work)
        what = order(goal, earlier=self.earlier, pass_no=pass_no, revision=revision)
        what = replace(what, subtasks=(as_sent(goal),))
        log, clock = MemoryLog(), SteppingClock()
        shell = ScriptedShell(
            {
                "look": lambda _: 0 if self.runner.orders else 1,
                re.compile(" agent "): lambda _: Answer(stdout=self.streams.pop(0)),
                re.compile("handoff"): 1,
            },
            default=None,
        )
        runs = AgentRuns(shell, ScriptedBench(), lambda *_: self.runner, log, pass_name="p")
        shells = shell_means(what, shell, ScriptedJudge(), log, clock)
        means = AgentMeans(
            shells, runs, Assigning(what, runner="one"), ScriptedJudge(), what.subtasks
        )
        result = carry_out(what, means, log, clock, settle=())
        self.earlier += log.ended
        self.validations += (note for _, note in log.notes if isinstance(note, TaskValidated))
        return result, log.ended

    @property
    def tasks(self) -> list[str]:
        return [str(each.assignment) for each in self.runner.orders]


def test_s4_44_a_violation_fails_the_attempt_and_its_green_check_does_not_undo_that() -> None:
    """The next agent goes on from the work of the first one, and must keep to the protocol."""
    step = Step([ASKS, OBEYS])
    first, (failed,) = step.carry_out(1)
    assert first.ending is Ending.INCOMPLETE
    assert (failed.outcome, failed.counted) == (Outcome.FAILED, True)
    assert failed.check is not None
    assert failed.check.ok
    second, (done,) = step.carry_out(2)
    assert second.ending is Ending.DONE
    assert (done.outcome, done.never_red) == (Outcome.OK, False)
    assert "violated autonomous mode protocol: NO_QUESTIONS_TO_USER" in step.tasks[1]
    assert [note.compliant for note in step.validations] == [False, True]


def test_a_program_without_events_is_judged_by_the_question_in_its_result() -> None:
    step = Step(["ask Which one?\nend needs_input\n"], runner=ScriptedRunner("one"))
    _, (failed,) = step.carry_out(1)
    assert failed.outcome is Outcome.FAILED
    assert isinstance(failed.result, AgentResult)
    assert failed.result.questions == 1
    assert [note.compliant for note in step.validations] == [False]


def test_a_revision_does_not_undo_it_either() -> None:
    step = Step([ASKS, ASKS])
    step.carry_out(1)
    again, (failed,) = step.carry_out(2, revision=1)
    assert again.ending is Ending.INCOMPLETE
    assert failed.outcome is Outcome.FAILED


def test_who_no_longer_minds_takes_the_work_as_it_is() -> None:
    step = Step([ASKS])
    step.carry_out(1)
    lax = replace(STRICT, compliance=Compliance())
    result, (found,) = step.carry_out(2, lax, revision=1)
    assert result.ending is Ending.DONE
    assert found.outcome is Outcome.SATISFIED


def test_s4_45_each_attempt_has_a_note_of_its_validation() -> None:
    step = Step([ASKS])
    with capture_logs() as logged:
        _, (failed,) = step.carry_out(1)
    assert [(each["log_level"], each["event"]) for each in logged] == [
        ("error", "protocol_violation"),  # S4.43: each of them, the warning too
        ("error", "protocol_violation"),
        ("info", "task_validation"),
    ]
    assert isinstance(failed.result, AgentResult)
    assert step.validations == [TaskValidated("step", False, failed.result.violations)]
