"""What an agent is asked to do, as a value."""

import pytest

from shared.domain.agent import (
    AgentWork,
    ExecutionMode,
    Progress,
    RunnerChoice,
    StuckStrategy,
    Watchdog,
)
from shared.domain.errors import Defect
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.target import Repository
from shared.wire import from_json, to_json


def test_everything_about_an_agent_may_be_left_out() -> None:
    """S4.59, S4.18, S4.22, S4.24."""
    work = AgentWork()
    assert (work.time_budget, work.is_autonomous, work.chain) == (3600, False, ())
    assert work.watchdog.check_interval == 300
    assert work.watchdog.strategy is StuckStrategy.NOTIFY


def test_the_seed_s_word_for_the_next_runner_is_read() -> None:
    """X15."""
    assert StuckStrategy("escalate_to_codex") is StuckStrategy.NEXT_RUNNER
    with pytest.raises(ValueError, match="escalate"):
        StuckStrategy("escalate")


def test_runners_are_tried_by_priority() -> None:
    """S4.51; one that stands alone is a chain of one."""
    later, first = RunnerChoice("codex", 2), RunnerChoice("claude-code", 1)
    assert AgentWork(runners=(later, first)).chain == (first, later)
    assert AgentWork(runner="aider").chain == (RunnerChoice("aider", 1),)


@pytest.mark.parametrize(
    ("kind", "agent"), [(SubtaskKind.AGENT, None), (SubtaskKind.COMMAND, AgentWork())]
)
def test_an_agent_s_subtask_has_its_work_and_no_other_has(
    kind: SubtaskKind, agent: AgentWork | None
) -> None:
    with pytest.raises(Defect):
        Subtask(1, "1", "mend it", "mend it", kind=kind, agent=agent)


def test_a_subtask_of_an_agent_comes_back_from_a_row() -> None:
    work = AgentWork(
        context=("a.py",),
        acceptance=("it works",),
        runners=(RunnerChoice("codex", 1, 60.0),),
        mode=ExecutionMode.AUTONOMOUS,
        allowed_tools=("Edit",),
        watchdog=Watchdog(indicators=frozenset({Progress.COMMITS})),
    )
    subtask = Subtask(1, "1", "t", "mend it", kind=SubtaskKind.AGENT, agent=work)
    assert from_json(Subtask, to_json(subtask)) == subtask


def test_a_repository_allows_any_runner_unless_it_names_some() -> None:
    assert Repository("app", "localhost").allows("codex")
    assert not Repository("app", "localhost", runners=("aider",)).allows("codex")


def test_a_repository_is_cloned_from_its_path_or_its_address() -> None:
    assert Repository("app", "localhost", path="/srv/app").source == "/srv/app"
    assert Repository("app", "localhost", url="https://x/app.git").source == "https://x/app.git"
