"""Three plans as people write them, under the default policy: `make journey-everyday`.

A web server with its own site, a Python app in a virtual environment, and log rotation: each is
carried out on a real Debian from one terminal, which asks once at most, and then once more.

The packages are Debian's own. `systemctl` and `journalctl` stand in for systemd
(`tests/services/debian`), and a small package for what pip installs.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.journeys.everyday_plans import CASES, PREPARED, RELEASE, SERVED, Case
from tests.journeys.on_debian import Journey, debian_journey
from tests.services.availability import only_when_asked
from tests.services.ring import Ring
from tests.services.watching import watched

pytestmark = [
    only_when_asked("REPLAN_JOURNEYS", "debian", "sets a Debian up: `make journey-everyday`"),
    pytest.mark.timeout(1800),
]

CHOICE: Final = "s show, l later: "
AHEAD: Final = "or each when it asks (n): "
PASSPHRASE: Final = ("New passphrase (empty for none): ",)
"""Asked for when the first approval is signed."""


@pytest.fixture
def journey(ring: Ring) -> Iterator[Journey]:
    """Everything up under the default policy."""
    ring.extra["REPLAN_GUARD_POLICY"] = ""
    with debian_journey(ring, RELEASE, PREPARED, served=SERVED) as made:
        yield made


def _carried_out(journey: Journey, case: Case) -> int:
    """Carry the plan out at a terminal, where all of it is approved before it asks.

    Returns how often a person had to answer.
    """
    signs = journey.ring.scalar("SELECT count(*) FROM approvals")
    submit = ("task", "submit", "--plan", case.file, "--host", "web1", "--wait")
    with watched(100, 50, *submit, environ=journey.ring.environ) as seen:
        asked = seen.asks(AHEAD)
        if asked:
            seen.type("y\n")
            for prompt in () if signs else PASSPHRASE:
                seen.asked(prompt)
                seen.type("\n")
        again = seen.asks(CHOICE)
        code, lines = seen.end() if not again else (None, [])
    print("\n".join(lines))
    assert code == 0, seen.written
    return int(asked)


def test_each_is_carried_out_from_one_terminal_with_one_stop_at_most(journey: Journey) -> None:
    for case in CASES:
        for _ in range(2):
            stops = _carried_out(journey, case)
            print(f"{case.name}: {stops} stops")
            assert stops <= 1
            journey.comes_to_hold(case.effects, f"what {case.name} is for")
    assert journey.failures() == []
