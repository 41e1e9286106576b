"""Files that steer agents, CI or git are named, wherever they lie."""

import pytest

from workers.agents.steering import steering_files

STEERING = (
    ".github/workflows/ci.yml",
    ".claude/settings.json",
    ".claude",
    "web/CLAUDE.md",
    "Agents.md",
    ".mcp.json",
    ".gitlab-ci.yml",
    "Jenkinsfile",
    ".husky/pre-commit",
    ".pre-commit-config.yaml",
    "sub/.gitattributes",
    ".aider.conf.yml",
    ".vscode/tasks.json",
    ".envrc",
)


@pytest.mark.parametrize("path", STEERING)
def test_a_file_that_steers_is_named(path: str) -> None:
    assert steering_files([path]) == (path,)


def test_other_files_are_not() -> None:
    """In the order of the others."""
    other = ("src/claude.py", "docs/github.md", "agents.mdx", "a.github/x", "gitattributes")
    assert steering_files((*other, *STEERING)) == STEERING
    assert steering_files(other) == ()
