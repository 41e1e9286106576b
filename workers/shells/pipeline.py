"""What a pass asks its host next when all goes as it most often does."""

from collections.abc import Collection, Generator, Iterable

from shared.domain.plan import Subtask
from shared.domain.snippet import text_of
from workers.passes.history import History
from workers.passes.recorder import Recorder
from workers.shells.approval_gate import Clearance
from workers.shells.door import Door
from workers.shells.labels import label
from workers.shells.ports import Call


class Foresight:
    """Foresees the calls of the subtasks that come next, up to the first that may need more.

    A subtask is foreseen to go well: its check says no, what it requires is there, its command
    exits with 0, its check says yes. Where the check of the last one was green at once, so are
    those of the next. Nothing is foreseen that the pass would not ask, and nothing that the guard
    does not allow by itself.
    """

    def __init__(
        self,
        door: Door,
        history: History,
        recorder: Recorder,
        clearance: Clearance,
        *,
        check_timeout: float,
    ) -> None:
        self._door = door
        self._history = history
        self._recorder = recorder
        self._clearance = clearance
        self._check_timeout = check_timeout
        self._active = False
        self.satisfied = False

    def look_ahead(self, subtasks: Iterable[Subtask], done: Collection[str]) -> None:
        """Tell the host what comes next, unless it was told and all went like that so far."""
        if not self._active:
            self._active = True
            self._door.pipeline(self._calls(subtasks, set(done)))

    def _calls(self, subtasks: Iterable[Subtask], done: set[str]) -> Generator[Call]:
        try:
            for subtask in subtasks:
                if not self._history.done_before(subtask):
                    if not self._is_plain(subtask, done):
                        return
                    yield from self._calls_of(subtask)
                done.add(subtask.key)
        finally:
            self._active = False

    def _calls_of(self, subtask: Subtask) -> Generator[Call]:
        command = text_of(subtask)
        if subtask.check is not None:
            yield Call(subtask.check, self._check_timeout, ends_well=self.satisfied)
            if self.satisfied:
                return
        for precondition in subtask.preconditions:
            yield Call(precondition, self._check_timeout)
        key = self._recorder.next_key(subtask)
        yield Call(command, subtask.timeout, key=key, label=label(None, command))
        if subtask.check is not None:
            yield Call(subtask.check, self._check_timeout)

    def _is_plain(self, subtask: Subtask, done: set[str]) -> bool:
        looks = () if subtask.check is None else (subtask.check,)
        texts = (*looks, *subtask.preconditions, text_of(subtask))
        return (
            not self._clearance.confirmed(subtask)
            and done.issuperset(subtask.needs)
            and not self._history.next_try(subtask.ordinal)
            and self._door.recalled(self._recorder.next_key(subtask)) is None
            and all(self._door.verdict(text).allowed for text in texts)
        )
