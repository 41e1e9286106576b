"""The work that everybody is given."""

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Workload:
    """`plans` at once, each of `commands` one after another; `unit` is what is counted a second."""

    key: str
    title: str
    plans: int
    commands: int
    unit: str

    @property
    def count(self) -> int:
        """All commands together."""
        return self.plans * self.commands

    def shortened(self) -> "Workload":
        """The same with a quarter of the commands, for a run that only shows that it works."""
        return replace(self, commands=max(2, self.commands // 4))


ONE_HOST: Final = Workload(
    "one-host", "One host, one plan of 200 commands `true`", 1, 200, "commands/s"
)
FOUR_HOSTS: Final = Workload(
    "four-hosts", "Four hosts, 20 plans of 10 commands `true` at once", 20, 10, "commands/s"
)
ONE_PLAN: Final = Workload("one-plan", "One durable plan of 200 no-ops", 1, 200, "steps/s")
MANY_PLANS: Final = Workload(
    "many-plans", "20 durable plans of 10 no-ops at once", 20, 10, "steps/s"
)

WORKLOADS: Final = (ONE_HOST, FOUR_HOSTS, ONE_PLAN, MANY_PLANS)
"""In the order in which they are measured and shown."""
