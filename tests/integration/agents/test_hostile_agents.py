"""Agents that do what nobody asked for: what comes of it, and that their work is kept."""

import subprocess
from pathlib import Path

import pytest

from shared.domain.attempt import AgentResult
from shared.domain.outcome import Outcome
from shared.domain.workspace import LeftOut, Why
from shared.domain.workspace_limits import WorkspaceLimits
from tests.integration.agents.conftest import GIT, Driving, agent

DONE = "echo 'end ok all done'"
COMMIT = "git -c user.name=a -c user.email=a@example.com commit"


def result_of(driving: Driving, goal: str) -> AgentResult:
    """What the agent left that has done this."""
    _, log = driving.drive(agent(goal))
    attempt = log.ended[-1]
    assert attempt.outcome is Outcome.OK, attempt.explanation
    assert isinstance(attempt.result, AgentResult)
    return attempt.result


@pytest.mark.parametrize(
    "history",
    [
        f"git add -A; {COMMIT} -qm mine",
        f"git add -A; {COMMIT} -q --amend -m theirs",
        f"git checkout -q --orphan other; git add -A; {COMMIT} -qm alone",
        f"git add -A; {COMMIT} -qm mine; git reflog expire --all; git gc -q --prune=now",
        "git update-ref -d HEAD; rm -rf .git/objects",
        "rm -rf .git",
        "rm -rf .git; git init -q; git add -A; " + COMMIT + " -qm new",
    ],
)
def test_whatever_it_does_to_history_its_files_are_kept(driving: Driving, history: str) -> None:
    """They differ from the commit that it began with, whatever git would say there."""
    found = result_of(driving, f"echo new >app.py; echo more >more; {history}; {DONE}")
    assert found.changed_files == ("app.py", "more")
    assert driving.show(found.tree, "app.py") == "new\n"
    assert driving.repository.path is not None
    assert Path(driving.repository.path, "app.py").read_text() == "old\n"


def test_git_in_a_workspace_without_its_own_finds_none_above(driving: Driving) -> None:
    """As in an account whose home is a repository."""
    driving.folder.mkdir()
    above = driving.folder.parent
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "home")):
        subprocess.run([*GIT, *words], cwd=above, check=True)
    found = result_of(
        driving, f"rm -rf .git; touch new; git add -A && {COMMIT} -qm x && touch wrong; {DONE}"
    )
    assert found.changed_files == ("new",)
    said = [*GIT, "log", "--oneline"]
    log = subprocess.run(said, cwd=above, check=True, capture_output=True, text=True).stdout
    assert len(log.splitlines()) == 1


def test_it_cannot_push(driving: Driving) -> None:
    """There is nowhere to push to; where its repository came from, it is not told."""
    goal = f"touch new; git push origin HEAD:main && touch pushed; git remote >remotes; {DONE}"
    found = result_of(driving, goal)
    assert found.changed_files == ("new", "remotes")
    assert driving.show(found.tree, "remotes") == ""


def test_files_that_steer_agents_and_ci_are_named(driving: Driving) -> None:
    goal = f"mkdir -p .github/workflows .claude src; touch .github/workflows/ci.yml \
.claude/settings.json src/CLAUDE.md src/app.py; {DONE}"
    found = result_of(driving, goal)
    assert found.steering == (
        ".claude/settings.json",
        ".github/workflows/ci.yml",
        "src/CLAUDE.md",
    )
    assert len(found.changed_files) == 4


def test_files_that_are_too_large_to_be_kept_are_named(driving: Driving) -> None:
    """Nobody would miss them before the workspace is gone."""
    object.__setattr__(driving.agents, "limits", WorkspaceLimits(largest=100_000))
    found = result_of(driving, f"head -c 200000 /dev/zero >big; touch small; {DONE}")
    assert found.changed_files == ("small",)
    assert LeftOut("big", Why.LARGE_OR_UNREADABLE) in found.workspace.left_out


def test_an_agent_is_not_started_for_files_that_are_not_there(driving: Driving) -> None:
    goal = agent(f"touch started; {DONE}", "test -e started", context=("app.py", "gone.py"))
    _, log = driving.drive(goal)
    attempt = log.ended[0]
    assert isinstance(attempt.result, AgentResult)
    assert "its context names 'gone.py'" in attempt.result.summary
    assert attempt.outcome is Outcome.FAILED
