"""Connections of which one end no longer knows: acknowledged, and never answered.

Those that there are stay so for good; new ones are swallowed as well for a while, and work then.
"""

from collections.abc import Callable, Sequence
from typing import Final

from tests.chaos.faults import Act, Fault, lasting
from tests.chaos.stage import Stage
from tests.services.proxy import Proxy

SOON: Final = 5.0
LONG: Final = 20.0
"""Seconds that new connections are swallowed too."""

Links = Callable[[Stage], Sequence[Proxy]]


def _half_open(part: str, links: Links, seconds: float) -> Act:
    def begin(stage: Stage) -> bool:
        return sum(link.swallow() for link in links(stage)) > 0

    def end(stage: Stage) -> None:
        for link in links(stage):
            link.pass_on()

    return lasting(part, seconds, begin, end)


def _database(stage: Stage) -> Sequence[Proxy]:
    return (stage.database_link,)


def _broker(stage: Stage) -> Sequence[Proxy]:
    return (stage.broker_link,)


def _hosts(stage: Stage) -> Sequence[Proxy]:
    return [host.link for host in stage.hosts]


FAULTS: Final = tuple(
    Fault(f"{part} half-open {seconds:.0f} s", _half_open(part, links, seconds), for_all=True)
    for seconds in (SOON, LONG)
    for part, links in (("database", _database), ("broker", _broker), ("hosts", _hosts))
)
