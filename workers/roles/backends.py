"""Finds the backend that answers for a planning role."""

from collections.abc import Callable, Mapping

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from workers.planning import PlannerBackend


class Backends:
    """The backends of this process by name, each created on first use."""

    def __init__(self, makers: Mapping[str, Callable[[], PlannerBackend]]) -> None:
        self._makers = makers
        self._made: dict[str, PlannerBackend] = {}

    def get(self, name: str) -> PlannerBackend:
        """The backend with that name; raises Misconfigured if there is none."""
        if name not in self._makers:
            known = ", ".join(sorted(self._makers))
            raise Misconfigured(
                f"no planner backend is called {name!r}; the backends are {known}",
                stage="plan",
                next_step=NextStep.of("config show"),
            )
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]
