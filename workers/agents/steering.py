"""Files of a repository that steer agents, CI or git: who changes them changes what runs later.

A reader of the result should look at them first, whatever the check says.
"""

import re
from collections.abc import Iterable
from typing import Final

_FOLDERS: Final = frozenset(
    {
        # agents and editors
        *(".aider", ".claude", ".codex", ".continue", ".cursor", ".devcontainer", ".gemini"),
        *(".kiro", ".opencode", ".roo", ".vscode", ".windsurf"),
        # CI
        *(".buildkite", ".circleci", ".forgejo", ".gitea", ".github", ".gitlab", ".teamcity"),
        *(".tekton", ".woodpecker"),
        # hooks
        *(".githooks", ".husky", ".lefthook"),
    }
)
_NAMES: Final = frozenset(
    {
        # agents
        *("agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md"),
        *("opencode.json", "opencode.jsonc", "conventions.md", ".clinerules", ".cursorrules"),
        *(".mcp.json", ".windsurfrules"),
        # CI
        *("azure-pipelines.yml", "bitbucket-pipelines.yml", "codeowners", "jenkinsfile"),
        *(".appveyor.yml", ".cirrus.yml", ".drone.yml", ".gitlab-ci.yml", ".travis.yml"),
        # git and hooks
        *(".envrc", ".gitattributes", ".gitmodules", ".pre-commit-config.yaml"),
        *("lefthook.yml", "lefthook.yaml"),
    }
)
_PATTERN: Final = re.compile(r"\.aider[\w.-]*|\.woodpecker[\w.-]*|\.husky[\w.-]*")


def steering_files(paths: Iterable[str]) -> tuple[str, ...]:
    """Those of the paths that steer something, in their order; case does not matter."""
    return tuple(path for path in paths if _steers(path))


def _steers(path: str) -> bool:
    *folders, name = path.casefold().split("/")
    known = name in _NAMES or _PATTERN.fullmatch(name) is not None
    # A folder that became a link, or a file, is one name.
    return known or not _FOLDERS.isdisjoint((*folders, name))
