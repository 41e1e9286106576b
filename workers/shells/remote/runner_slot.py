"""A slot for one runner, which opens the records of its pass when it is first needed."""

from collections.abc import Callable

from workers.shells.remote.runner import Runner
from workers.shells.remote.runners import RunnerPool

Open = Callable[[Runner], None]
"""Opens a runner for its pass, and does what must happen before anything runs on it."""


class RunnerSlot:
    """Holds one runner for one command after another, and replaces it once it is lost."""

    def __init__(self, pool: RunnerPool, opening: Open) -> None:
        self._pool = pool
        self._opening = opening
        self._runner: Runner | None = None

    def ready(self) -> Runner:
        """The runner. Raises Transient or Misconfigured if there is none, LostError if lost."""
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
        """Open another stem on the same runner."""
        self._opening(self.ready())

    def drop(self) -> None:
        """Abandon the runner: it ends after its current command."""
        runner, self._runner = self._runner, None
        if runner is not None:
            self._pool.drop(runner)

    def close(self) -> None:
        """Give the runner back."""
        runner, self._runner = self._runner, None
        if runner is not None:
            self._pool.give_back(runner)
