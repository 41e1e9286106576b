"""Looks at one workspace for a person, keeps what it holds, removes it, or brings it up to date."""

from collections.abc import Mapping
from typing import Any, Final

from shared.domain.found_on_host import WorkspaceOnHost
from shared.domain.target import Repository
from shared.settings.server import WORKSPACES
from workers.agents.workspaces.script import script, value, values
from workers.deliveries.remote import Remote, fields_of
from workers.deliveries.worktrees import Worktrees
from workers.shells.ports import Call, Shell

_TIMEOUT: Final = 300.0
_PARTS: Final = ("snapshot", "collect", "workers.deliveries:care")


class WorktreeCare:
    """The workspaces of a repository. Nothing goes that is not kept, or in which a process works.

    The methods raise what `Workspaces` raises.
    """

    def __init__(self, shell: Shell, repository: Repository, *, root: str = WORKSPACES) -> None:
        self._shell = shell
        self._repository = repository
        self._root = root

    def attend(self, asked: Mapping[str, Any]) -> WorkspaceOnHost:
        """Do what is asked of the workspace `name`: `look`, `keep`, `remove` or `sync`.

        With a `head` it is the main one of a session: its `branch` on the remote is looked at, too,
        and `sync` brings it to that commit.
        """
        name, verb, head = asked["name"], asked["verb"], asked.get("head")
        if verb == "sync" and head is not None:
            worktrees = Worktrees(self._shell, self._repository, root=self._root)
            worktrees.sync(head, name)
            verb = "look"
        remote = None
        if head is not None:
            remote = Remote(self._shell, self._repository, asked["branch"], root=self._root).look(
                head
            )
        fields = self._care(name, verb)
        removed = value(fields, "removed") == "yes"
        return WorkspaceOnHost(
            path=None if removed else value(fields, "path") or None,
            base=value(fields, "base") or None,
            tree=value(fields, "tree") or None,
            kept=value(fields, "kept") == "yes" or not value(fields, "path"),
            unkept=tuple(dict.fromkeys(values(fields, "unkept"))),
            used=value(fields, "used") == "yes",
            changed=value(fields, "changed") == "yes",
            remote=remote,
            git_dir=value(fields, "git_dir"),
        )

    def _care(self, name: str, verb: str) -> tuple[tuple[str, str], ...]:
        variables = {
            "attempt": name,
            "largest": None,
            "label": "kept by a person",
            "whole": "",
            "setup": "",
            "cap": "",
            "idle": "",
            "from": "",
        }
        text = script(_PARTS, self._repository, self._root, ("care", verb), variables)
        result = self._shell.run(Call(text, _TIMEOUT))
        return fields_of(result, self._repository, "care", _TIMEOUT, lambda _: None)
