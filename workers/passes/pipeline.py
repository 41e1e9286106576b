"""Announces to the means what a pass will ask next if all goes well."""

from collections.abc import Collection, Generator, Iterable

from shared.secrets.sent import SentSubtask
from workers.passes.context import PassContext
from workers.passes.means import Coming


class Announcer:
    """Announces the subtasks that come next, up to the first that may need more.

    It expects each subtask to go well: its check is red, its preconditions hold, its command ends
    well, its check is green. If the check of the last subtask was green at once, it expects the
    same of the next ones. It announces nothing that the pass would not ask, and nothing that the
    guard alone does not allow.
    """

    def __init__(self, context: PassContext) -> None:
        self._context = context
        self._active = False
        self.satisfied = False

    def announce(self, subtasks: Iterable[SentSubtask], done: Collection[str]) -> None:
        """Announce what comes next, unless an earlier announcement still holds."""
        if not self._active:
            self._active = True
            self._context.means.pipeline(self._coming(subtasks, set(done)))

    def _coming(self, subtasks: Iterable[SentSubtask], done: set[str]) -> Generator[Coming]:
        try:
            for subtask in subtasks:
                if not self._context.history.done_before(subtask):
                    key = self._context.recorder.next_key(subtask)
                    if not self._is_plain(subtask, key, done):
                        return
                    yield Coming(subtask, key, self.satisfied)
                done.add(subtask.key)
        finally:
            self._active = False

    def _is_plain(self, subtask: SentSubtask, key: str, done: set[str]) -> bool:
        context = self._context
        return (
            done.issuperset(subtask.needs)
            and not context.history.next_try(subtask.ordinal)
            and context.means.recall(key) is None
            and context.gate.allows(subtask)
        )
