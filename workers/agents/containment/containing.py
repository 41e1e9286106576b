"""Finds out how agents run contained on a host, and has them run so."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from shared.domain.containment import (
    AgentContainment,
    AgentRule,
    ContainmentRule,
    Hidden,
    Missing,
    Networks,
)
from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from workers.agents.containment.text import Place, reachable_gateway, trial
from workers.shells.ports import Call, Shell

_TIMEOUT: Final = 30.0
_REFUSED: Final = "uncontained"
_WORKS: Final = "contained"


@dataclass(frozen=True, slots=True)
class Confinement:
    """How agents have to run on a host, and what is hidden from them there."""

    rule: AgentRule
    hidden: Hidden = Hidden()  # noqa: RUF009 - it is frozen


UNCONFINED: Final = Confinement(AgentRule(ContainmentRule.OFF))

ConfinementOf = Callable[[str], Confinement]
"""How agents have to run on the host of that name."""


def find_containment(
    shell: Shell, confinement: Confinement, gateway: str | None
) -> AgentContainment:
    """How agents run on the host of the shell; `gateway` is the URL that they must reach.

    Nothing is kept there. Raises what the shell raises.
    """
    rule = confinement.rule
    if rule.containment is ContainmentRule.OFF:
        return AgentContainment(missing=Missing.OFF)
    place = Place(hidden=confinement.hidden, networks=rule.networks)
    found = _try(shell, place, gateway)
    if found.missing is not Missing.RELAY or rule.containment is ContainmentRule.REQUIRED:
        return found
    wider = _try(shell, replace(place, networks=Networks.ALL), gateway)
    return wider if wider.missing else replace(found, networks=Networks.ALL)


def _try(shell: Shell, place: Place, gateway: str | None) -> AgentContainment:
    if place.networks is Networks.GATEWAY and gateway and reachable_gateway(gateway) is None:
        return AgentContainment(missing=Missing.RELAY, said=gateway)
    text = trial(f"exec echo {_WORKS}", replace(place, gateway=gateway))
    result = shell.run(Call(text, _TIMEOUT))
    if result.stdout.split() == [_WORKS.encode()]:
        return AgentContainment(place.networks)
    lines = result.stderr.decode(errors="replace").splitlines()
    said = [line.split(" ", 2)[1:] for line in lines if line.startswith(_REFUSED)]
    why, words = (*(said[-1] if said else (Missing.GONE,)), "")[:2]
    return AgentContainment(missing=Missing(why), said=words)


class HostContainment:
    """The containment of agents in one repository; its host is asked once, when one is started."""

    def __init__(self, shell: Shell, confinement: Confinement, repository: str) -> None:
        self.hidden = confinement.hidden
        self._shell = shell
        self._confinement = confinement
        self._repository = repository
        self._found: AgentContainment | None = None

    def networks(self, gateway: str | None) -> Networks | None:
        """What an agent reaches that is started now; None if it does not run contained.

        Raises Misconfigured where the policy requires what the host cannot do, and what the shell
        raises.
        """
        if self._found is None:
            self._found = find_containment(self._shell, self._confinement, gateway)
        found, rule = self._found, self._confinement.rule
        if found.missing and rule.containment is ContainmentRule.REQUIRED:
            raise Misconfigured(
                "the policy requires a containment for agents, and the host has none "
                f"({found.missing}{f': {found.said}' if found.said else ''})",
                stage="guard",
                next_step=NextStep.of("repo check", self._repository),
            )
        return found.networks
