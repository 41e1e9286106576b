"""Which files a worker of a parallel run takes next.

Some tests wait for processes, others compute. Left to the number of their tests, files that compute
come first and journeys, of which one may take a minute, last. Here half of the workers begin with
what computes and the others with what waits; what takes longest comes first.
"""

from collections.abc import Iterable
from typing import Final

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

COMPUTE: Final = ("tests/unit/", "tests/architecture/", "tests/contract/")
LONGEST_FIRST: Final = ("tests/journeys/", "")


class WaitingBesideComputing(LoadFileScheduling):
    """Hands out whole files, to every worker first those of its kind."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        computing = self.nodes.index(node) % 2 == 1
        self.workqueue.move_to_end(next_file(self.workqueue, computing=computing), last=False)
        super()._assign_work_unit(node)


def next_file(waiting: Iterable[str], *, computing: bool) -> str:
    """What a worker begins that computes, or waits; files of the same rank keep their order."""
    return min(waiting, key=lambda file: (file.startswith(COMPUTE) is not computing, _rank(file)))


def _rank(file: str) -> int:
    return next(n for n, start in enumerate(LONGEST_FIRST) if file.startswith(start))
