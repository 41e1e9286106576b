"""Which backend answers for a planning role."""

from collections.abc import Callable, Mapping

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from workers.planning import PlannerBackend


class Backends:
    """The backends of this process by name, each made when it is first asked."""

    def __init__(self, makers: Mapping[str, Callable[[], PlannerBackend]]) -> None:
        self._makers = makers
        self._made: dict[str, PlannerBackend] = {}

    def get(self, name: str) -> PlannerBackend:
        """The backend; raises Misconfigured when there is none of that name."""
        if name not in self._makers:
            known = ", ".join(sorted(self._makers))
            raise Misconfigured(
                f"no planner backend is called {name!r}; there are {known}",
                stage="plan",
                next_step=NextStep.of("config show"),
            )
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]
