"""The guard's verdict on a command: it may run, a person must approve it, or it must not run."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CRITICAL: Final = "critical"
"""The rule of what a plan calls critical (S0.88)."""

NOT_PLANNED: Final = "plan"
"""The rule of what was not approved with its plan, under `autonomy: plan`."""


class VerdictKind(StrEnum):
    """The three answers, mildest first."""

    ALLOW = "allow"
    APPROVE = "approve"  # it cannot be decided without a person (X17)
    DENY = "deny"  # a forbidden command: the step stops (S0.61, S0.86)

    @property
    def severity(self) -> int:
        """0 for allow, 1 for approve, 2 for deny."""
        return _SEVERITY[self]


_SEVERITY = {VerdictKind.ALLOW: 0, VerdictKind.APPROVE: 1, VerdictKind.DENY: 2}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one command, and why.

    `rule` is the matching entry of `forbidden_commands`, or the name of what could not be decided;
    `part` is the piece of the command that caused it. Both are empty for an `allow`. `part` and
    `reason` quote the command: mask secrets before storing them.
    """

    kind: VerdictKind
    rule: str = ""
    reason: str = ""
    part: str = ""

    @property
    def allowed(self) -> bool:
        """True when the command may run as it is."""
        return self.kind is VerdictKind.ALLOW

    @property
    def denied(self) -> bool:
        """True when no approval can let the command run."""
        return self.kind is VerdictKind.DENY


ALLOWED = Verdict(VerdictKind.ALLOW)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The most severe verdict, the first among equals; an `allow` if there are none."""
    return max(verdicts, key=lambda verdict: verdict.kind.severity, default=ALLOWED)
