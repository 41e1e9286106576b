"""Full disks: under Postgres, and under the records that hosts keep of commands."""

from collections.abc import Callable
from typing import Final

from tests.chaos.faults import Fault, lasting
from tests.chaos.stage import Stage
from tests.services.disks import SmallDisk

FULL: Final = 10.0
"""Seconds without room."""

NO_DISK: Final = "only root may mount a small disk, and not in every container"


def _database(stage: Stage) -> SmallDisk | None:
    return stage.database_disk


def _hosts(stage: Stage) -> SmallDisk | None:
    return stage.hosts_disk


def _full(name: str, part: str, disk: Callable[[Stage], SmallDisk | None], **more: bool) -> Fault:
    def begin(stage: Stage) -> bool:
        found = disk(stage)
        return found is not None and found.fill()

    def end(stage: Stage) -> None:
        found = disk(stage)
        if found is None or not found.free():
            raise AssertionError(f"the disk of the {part} could not be given room again")

    def lacking(stage: Stage) -> str | None:
        return None if disk(stage) else NO_DISK

    return Fault(name, lasting(part, FULL, begin, end), lacking=lacking, for_all=True, **more)


FAULTS: Final = (
    _full("database disk full 10 s", "database", _database),
    _full("host disks full 10 s", "hosts", _hosts, allows_unknown=True, cuts_output=True),
)
