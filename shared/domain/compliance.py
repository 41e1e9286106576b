"""Whether an agent kept to the protocol of autonomous work (S4.37–S4.45)."""

from dataclasses import dataclass
from enum import StrEnum


class ProtocolRule(StrEnum):
    """A rule of autonomous work."""

    NO_QUESTIONS_TO_USER = "NO_QUESTIONS_TO_USER"
    DOCUMENT_DECISIONS = "DOCUMENT_DECISIONS"
    TIME_BUDGET = "TIME_BUDGET"


class Severity(StrEnum):
    """How much a violation weighs: only a critical one makes an attempt non-compliant (S4.41)."""

    CRITICAL = "critical"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that an attempt broke (S4.42); `details` is text for people."""

    rule: ProtocolRule
    severity: Severity
    details: str


@dataclass(frozen=True, slots=True)
class ComplianceReport:
    """The violations of an attempt. `unjudged` holds the rules that nothing could be read about."""

    violations: tuple[Violation, ...] = ()
    unjudged: frozenset[ProtocolRule] = frozenset()

    @property
    def compliant(self) -> bool:
        """True without a critical violation (S4.41)."""
        return all(each.severity is not Severity.CRITICAL for each in self.violations)
