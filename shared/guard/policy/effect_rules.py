"""Rules that allow a command by its effects: where a preview shows that it stays in bounds."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from shared.domain.preview import ChangeKind, FileChange, FileKind, Preview
from shared.guard.policy.files import LevelText

_OPEN_TO_ALL = 0o6002
"""The bits of a mode that no new file may have: set-user-ID, set-group-ID, writable by all."""


@dataclass(frozen=True, slots=True)
class EffectRule:
    """Programs that may change files below some folders, if a test then passes.

    `run` are the first words of a program that asks, `below` folders, `then` a command that must
    end well after it, in a preview of both: what that changes itself, as `nginx -t` does, is no
    effect of the command.
    """

    run: tuple[str, ...]
    below: tuple[str, ...]
    then: str

    @property
    def name(self) -> str:
        """What an attempt is recorded with that it has allowed."""
        return f"effects: {' '.join(self.run)}"

    def bounds(self, preview: Preview) -> bool:
        """Whether the preview of the command shows everything, and all of it in bounds."""
        return (
            preview.complete
            and preview.exit_code == 0
            and bool(preview.changes)
            and all(map(self._is_in_bounds, preview.changes))
        )

    def _is_in_bounds(self, change: FileChange) -> bool:
        """Whether it changes what a file below a folder says, and nothing else."""
        path = posixpath.normpath(change.path)
        if not any(path.startswith(f"{folder.rstrip('/')}/") for folder in self.below):
            return False
        before, after = change.before, change.after
        if after is None or after.kind is not FileKind.FILE or change.attributes:
            return False
        if change.kind is ChangeKind.CREATED:
            return not after.mode & _OPEN_TO_ALL
        if change.kind is not ChangeKind.CHANGED or before is None:
            return False
        return before.kind is FileKind.FILE and before.access == after.access


def effect_rules(level: LevelText) -> Iterator[EffectRule]:
    """The rules that a level of a policy lists."""
    for rule in level.effects:
        yield EffectRule(tuple(rule.run.split()), tuple(rule.below), rule.then)
