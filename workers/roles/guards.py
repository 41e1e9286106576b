"""The guards of a worker: one for each policy."""

import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from shared.domain.config import union
from shared.domain.containment import AgentRule, ContainmentRule
from shared.guard import Guard, Site, load_site, looks, planner_looks
from shared.guard.contained_looks import ContainedLooks, hidden_from_looks
from workers.agents.containment.containing import Confinement


class Guards:
    """One guard for each policy, which remembers its verdicts."""

    def __init__(
        self,
        policy_file: Path | None = None,
        forbidden: tuple[str, ...] = (),
        *,
        own: Iterable[Path] = (),
    ) -> None:
        """Read the site's policy; raises Misconfigured if it cannot be used.

        `forbidden` is the installation's own list, which applies whatever a task says; `own` are
        its folders, which neither looks nor agents see.
        """
        self._own = tuple(str(place) for place in own)
        self._forbidden = forbidden
        self._site: Site = load_site(policy_file)
        self._by_asked: dict[tuple[tuple[str, ...], str], Guard] = {}
        self._by_version: dict[tuple[str, AgentRule], Guard] = {}
        self._containing: dict[str, ContainedLooks] = {}
        self._looks: Guard | None = None
        self._planner_looks: Guard | None = None
        self._lock = threading.Lock()

    def __call__(self, forbidden: tuple[str, ...], host: str) -> Guard:
        """The guard for a host and a task's own list; hosts with the same policy share a guard.

        Raises Misconfigured if the list or the policy cannot be used.
        """
        asked = (forbidden, host)
        with self._lock:
            if asked not in self._by_asked:
                policy = self._site.for_host(host, union(self._forbidden, forbidden))
                known = policy.version, policy.agents
                if known not in self._by_version:
                    self._by_version[known] = Guard(policy)
                self._by_asked[asked] = self._by_version[known]
            return self._by_asked[asked]

    def containing(self, guard: Guard) -> ContainedLooks | None:
        """Which looks run contained under the policy of that guard; None if none does."""
        if guard.policy.containment is ContainmentRule.OFF:
            return None
        looking = self.looks()
        with self._lock:
            if guard.version not in self._containing:
                self._containing[guard.version] = ContainedLooks(guard, looking, self._own)
            return self._containing[guard.version]

    def confinement(self, host: str) -> Confinement:
        """How agents have to run on that host: without its secrets, and what is replan's own.

        Raises Misconfigured if the policy cannot be used.
        """
        policy = self((), host).policy
        hidden = hidden_from_looks(policy.territory)
        return Confinement(policy.agents, replace(hidden, places=(*hidden.places, *self._own)))

    def looks(self) -> Guard:
        """The guard that allows only commands that look at a host."""
        with self._lock:
            if self._looks is None:
                self._looks = Guard(looks())
            return self._looks

    def planner_looks(self) -> Guard:
        """The guard that allows only what a planner may look at."""
        with self._lock:
            if self._planner_looks is None:
                self._planner_looks = Guard(planner_looks(self._own))
            return self._planner_looks
