"""A parallel run begins with what takes longest, and waits while it computes."""

import pytest

from tests.schedule import next_file

FILES = (
    "tests/unit/guard/test_roots.py",
    "tests/integration/cli/test_hosts.py",
    "tests/integration/remote/test_pipeline.py",
    "tests/architecture/test_prose.py",
    "tests/journeys/test_once.py",
    "tests/chaos/test_stage.py",
)


@pytest.mark.parametrize(
    ("computing", "order"), [(False, (4, 1, 2, 5, 0, 3)), (True, (0, 3, 4, 1, 2, 5))]
)
def test_each_kind_of_worker_begins_with_its_own(computing: bool, order: tuple[int, ...]) -> None:
    waiting = list(FILES)
    taken = []
    while waiting:
        taken.append(next_file(waiting, computing=computing))
        waiting.remove(taken[-1])
    assert taken == [FILES[n] for n in order]
