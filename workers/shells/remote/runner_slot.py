"""A runner in use, opened for the records of a pass when it is first needed."""

from collections.abc import Callable

from workers.shells.remote.runner import Runner
from workers.shells.remote.runners import RunnerPool

Open = Callable[[Runner], None]
"""Opens a runner for its pass, and settles what must be before anything runs on it."""


class RunnerSlot:
    """One command after another on one runner, and on another once that is lost."""

    def __init__(self, pool: RunnerPool, opening: Open) -> None:
        self._pool = pool
        self._opening = opening
        self._runner: Runner | None = None

    def ready(self) -> Runner:
        """The runner. Raises Transient or Misconfigured when there is none, LostError once lost."""
        if self._runner is None:
            runner = self._pool.take()
            try:
                self._opening(runner)
            except BaseException:
                self._pool.drop(runner)
                raise
            self._runner = runner
        return self._runner

    def reopen(self) -> None:
        """Go on under another stem."""
        self._opening(self.ready())

    def drop(self) -> None:
        """Leave the runner to itself: it ends after what it has in hand."""
        runner, self._runner = self._runner, None
        if runner is not None:
            self._pool.drop(runner)

    def close(self) -> None:
        """Give the runner back."""
        runner, self._runner = self._runner, None
        if runner is not None:
            self._pool.give_back(runner)
