"""What a model has planned with agents, held against what was offered to it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from shared.contracts.answers import PlanAnswer
from shared.domain.agent import AgentWork, ExecutionMode, RunnerChoice, StuckStrategy
from shared.domain.errors import Rejected
from shared.domain.plan import Plan, Revision, Step, Subtask, SubtaskKind
from tests.unit.planning.given import (
    DETAIL_REQUEST,
    REPLAN_REQUEST,
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)
from tests.unit.planning.given_agents import (
    AUTHOR,
    BRIEF,
    CHECK,
    IN_APP,
    MEND,
    OFFER,
    WORK,
    revise_request,
)
from workers.llm.backend import ModelBackend
from workers.llm.calls import ModelQuestion, ModelReply, Usage
from workers.llm.planned_agents import planned, replanned, settle_agents
from workers.planning import NO_AGENTS, AgentOffer
from workers.repetition import refuse_repetition

NEW = Subtask(1, "new", "New", "do it", kind=SubtaskKind.AGENT, agent=AgentWork())


def settled(work: AgentWork, offer: AgentOffer = IN_APP, *before: Subtask) -> Subtask:
    """The only subtask, which has no fault."""
    (one,), faults = settle_agents([replace(NEW, agent=work)], offer, before)
    assert faults == ()
    return one


def test_an_agent_gets_the_checks_of_its_repository() -> None:
    assert settled(AgentWork(runner="codex")).check == "pytest -q && ruff check ."


def test_an_agent_that_does_not_work_there_is_a_fault() -> None:
    (one,), (fault,) = settle_agents([replace(NEW, agent=AgentWork(runner="acp"))], IN_APP)
    assert fault.final
    assert "'acp', which does not work in this repository; those that do: claude" in fault.reason
    bare = replace(IN_APP, repositories=(replace(IN_APP.repositories[0], checks=()),))
    _, (fault,) = settle_agents([NEW], bare)
    assert "has no check, nor has repository 'app'" in fault.reason
    assert settle_agents([NEW], NO_AGENTS) == ((NEW,), ()), "the review refuses it"
    assert one.check is None


def test_the_limits_that_a_person_has_set_hold_for_a_revision() -> None:
    """A model says nothing of them."""
    work = settled(AgentWork(runner="claude-code"), IN_APP, MEND).agent
    assert work is not None
    assert (work.mode, work.allowed_tools) == (ExecutionMode.AUTONOMOUS, ("Read", "Edit"))
    assert work.cost_budget == 2.0
    assert work.watchdog.strategy is StuckStrategy.NEXT_RUNNER
    assert work.runner == "claude-code"


@pytest.mark.parametrize(
    ("work", "usual"),
    [
        (AgentWork(runner="codex"), "claude-code"),
        (AgentWork(runners=WORK.runners), "claude-code"),
        (AgentWork(), "codex"),
    ],
)
def test_a_runner_that_cannot_keep_to_allowed_tools_goes_back(work: AgentWork, usual: str) -> None:
    """It would be refused when it is to start."""
    place = replace(IN_APP.repositories[0], runners=(usual, "codex", "claude-code"))
    offer = replace(IN_APP, repositories=(place,))
    _, (fault,) = settle_agents([replace(NEW, agent=work)], offer, (MEND,))
    assert fault.final
    assert "'codex' has no list of allowed tools; agents that have one: claude" in fault.reason
    free = replace(MEND, agent=replace(WORK, allowed_tools=None))
    settled(work, offer, free)


class Answers:
    """A model that always gives the same answer."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    def ask(self, question: ModelQuestion) -> ModelReply:  # noqa: ARG002 - it knows its answer
        return ModelReply(json.dumps(self._answer), Usage())

    def refuse(self, reply: ModelReply, reason: str) -> None:
        """Nothing is recorded."""


def test_limits_outlive_a_revision_without_agents() -> None:
    """The newest agent of any revision is the model, not that of the newest list alone."""
    commands = (Subtask(1, "mend", "Mend it", "make mend"),)
    lists = ((MEND,), (replace(MEND, agent=replace(WORK, cost_budget=1.0)),), commands)
    earlier = tuple(Revision(1, number, AUTHOR, each) for number, each in enumerate(lists))
    again = {"runners": ["claude-code"], "context": [], "acceptance": [], "time_budget_minutes": 20}
    goal = subtask_answer("mend", "Read empty lines, too", check=CHECK, agent=again)
    backend = ModelBackend(Answers(revision_answer(goal)))
    (one,) = backend.revise(revise_request(subtasks=commands, earlier=earlier)).subtasks
    assert one.agent is not None
    assert (one.agent.mode, one.agent.allowed_tools) == (WORK.mode, WORK.allowed_tools)
    assert one.agent.cost_budget == 1.0, "that of the newest agent"


def test_limits_outlive_the_steps_that_a_changed_plan_replaces() -> None:
    new = {"runners": ["claude-code"], "context": [], "acceptance": [], "time_budget_minutes": 20}
    goal = subtask_answer("other", "Read empty lines, too", check=CHECK, agent=new)
    backend = ModelBackend(Answers(detail_answer(goal)))
    request = replace(DETAIL_REQUEST, agents=IN_APP, before=(MEND,))
    (one,) = backend.detail(request)
    assert one.agent is not None
    assert (one.agent.mode, one.agent.allowed_tools) == (WORK.mode, WORK.allowed_tools)
    assert one.agent.cost_budget == WORK.cost_budget


def test_a_runner_of_the_plan_so_far_is_known_by_its_name() -> None:
    """With the command that starts it, which no model writes."""
    own = RunnerChoice("acp", 3, timeout=60.0, command="opencode acp --pure", alias="opencode")
    place = replace(IN_APP.repositories[0], runners=None)
    offer = replace(IN_APP, repositories=(place,), runners=("opencode", "codex"), choices=(own,))
    chain = (RunnerChoice("opencode", 1), RunnerChoice("codex", 2))
    work = settled(AgentWork(runners=chain), offer).agent
    assert work is not None
    assert work.chain == (replace(own, priority=1, timeout=None), RunnerChoice("codex", 2))


def answer(*steps: tuple[str, str, list[str]]) -> PlanAnswer:
    return PlanAnswer.model_validate(
        plan_answer(*(step_answer(k, repository=r, depends_on=n) for k, r, n in steps))
    )


DIAMOND: tuple[tuple[str, str, list[str]], ...] = (
    ("ui", "app", []),
    ("api", "app", []),
    ("both", "app", ["ui", "api"]),
)


def test_a_step_that_needs_two_side_by_side_goes_back() -> None:
    with pytest.raises(Rejected, match=r"'both' needs the steps 'ui' and 'api', .* 'app' side"):
        planned(answer(*DIAMOND), AUTHOR, OFFER)
    on_app = replace(OFFER, targets=("app",))
    on_target = [(key, "", needs) for key, _, needs in DIAMOND]
    with pytest.raises(Rejected, match="side by side"):
        planned(answer(*on_target), AUTHOR, on_app)
    assert len(planned(answer(*on_target), AUTHOR, OFFER).steps) == 3, "web1 is a host"
    with pytest.raises(Rejected, match="did you mean 'app'"):
        planned(answer(("ui", "ap", [])), AUTHOR, OFFER)


def test_new_steps_are_held_against_those_that_stay() -> None:
    """They wait for what the step waited for that they replace."""
    kept = tuple(Step(n, f"s{n}", "T", "", AUTHOR, repository="app") for n in (1, 2))
    failed = Step(3, "s3", "T", "", AUTHOR, depends_on=(1, 2), repository="site")
    request = replace(
        REPLAN_REQUEST,
        plan=Plan((*kept, failed)),
        phases={1: "done", 2: "done", 3: "replanning"},
        step=failed,
        agents=OFFER,
    )
    with pytest.raises(Rejected, match="step 'new' needs the steps 1 and 2, which work in"):
        replanned(answer(("new", "app", [])), AUTHOR, request)
    assert replanned(answer(("new", "site", [])), AUTHOR, request).steps[0].repository == "site"


@pytest.mark.parametrize(
    "work",
    [
        replace(WORK, runners=(), runner="codex"),
        replace(WORK, context=()),
        replace(WORK, acceptance=("It reads \\r\\n, too.",)),
    ],
)
def test_the_same_goal_for_another_agent_is_another_way(work: AgentWork) -> None:
    """A revision may change the runner, or what it is told (S4.54)."""
    refuse_repetition([replace(MEND, agent=work)], (), BRIEF.revisions)
    with pytest.raises(Rejected, match="this repeats revision 0"):
        refuse_repetition([MEND], (), BRIEF.revisions)
