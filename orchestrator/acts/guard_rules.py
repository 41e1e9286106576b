"""The rules in force, as a person may list them."""

from dataclasses import dataclass

from orchestrator.acts.caller import Caller
from orchestrator.acts.guard_policies import Under, guard_under
from orchestrator.acts.verbs import act


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A rule; `source` is who made it."""

    verdict: str
    rule: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class RuleList:
    """The rules in force: those that deny before those that allow."""

    rules: tuple[RuleLine, ...]
    version: str


@act("guard.rules")
def rules(caller: Caller, program: str | None, under: Under) -> RuleList:
    """Every rule in force, or those about one program. Raises Misconfigured."""
    guard = guard_under(caller, under)
    denied = (
        RuleLine("deny", f.entry, f.reason, f.source)
        for f in guard.policy.forbidden
        if program is None or program in f.entry.split()
    )
    allowed = (
        RuleLine("allow", a.name, a.reason, a.source)
        for a in guard.policy.allowances
        if program is None or a.run[0] == program
    )
    return RuleList((*denied, *allowed), guard.version)
