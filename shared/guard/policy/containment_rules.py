"""What has to run contained, by all levels of a policy: the most specific one counts."""

from collections.abc import Iterable

from shared.domain.containment import AgentRule, ContainmentRule, Networks
from shared.guard.policy.files import AgentsText


def containment_rule(levels: Iterable[ContainmentRule | None]) -> ContainmentRule:
    """The last rule that is one."""
    return [ContainmentRule.POSSIBLE, *filter(None, levels)][-1]


def agent_rule(levels: Iterable[AgentsText]) -> AgentRule:
    """How agents have to run; each level may say a part of it."""
    listed = tuple(levels)
    networks = (each.networks for each in listed)
    return AgentRule(
        containment_rule(each.containment for each in listed),
        [Networks.ALL, *filter(None, networks)][-1],
    )
