"""Which checks must be green on the merged tree of a delivery."""

from dataclasses import replace
from typing import Any, cast

from shared.domain.agent import AgentWork
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.target import Repository
from workers.acceptances import AcceptanceBrief
from workers.store import PassBrief

REPOSITORY = Repository("app", "localhost", "/app", checks=("ruff check .", "pytest"))
GOAL = Subtask(1, "goal", "goal", "Do it", kind=SubtaskKind.AGENT, agent=AgentWork())


def brief(*checks: str | None) -> AcceptanceBrief:
    """A delivery of agents with those checks of their own."""
    nothing = cast("Any", None)
    subtasks = tuple(replace(GOAL, ordinal=n, check=each) for n, each in enumerate(checks, 1))
    place = PassBrief(nothing, "R1", nothing, nothing, subtasks, ())
    return AcceptanceBrief(nothing, 1, 1, REPOSITORY, place, nothing, (), {})


def test_all_checks_of_the_repository_run_once() -> None:
    """An agent without a check of its own has them joined: that adds nothing."""
    assert brief(REPOSITORY.check, None).checks == ("ruff check .", "pytest")


def test_a_check_of_its_own_comes_after_those_of_the_repository() -> None:
    """Each runs once."""
    assert brief("pytest", "test -e one").checks == ("ruff check .", "pytest", "test -e one")
