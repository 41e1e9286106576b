"""Where a text comes from, and who must act if it is wrong."""

from dataclasses import dataclass

from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import Advice


@dataclass(frozen=True, slots=True)
class Origin:
    """The name of a text for people, and the error family for its faults.

    `family` is Rejected for what a planner or a person gave, Misconfigured for what an operator
    has installed.
    """

    name: str
    stage: str
    next_step: Advice | None = None
    family: type[Rejected] | type[Misconfigured] = Rejected

    def error(self, reason: str) -> Rejected | Misconfigured:
        """The error to raise: it begins with the text's name."""
        return self.family(f"{self.name}: {reason}", stage=self.stage, next_step=self.next_step)

    def faults(self, lines: list[str], *, shown: int = 8) -> Rejected | Misconfigured:
        """One error for several faults, the first of them spelled out."""
        if len(lines) == 1:
            return self.error(lines[0])
        listed = [f"  {line}" for line in lines[:shown]]
        if len(lines) > shown:
            listed.append(f"  and {len(lines) - shown} more")
        return self.error("\n".join((f"{len(lines)} faults", *listed)))
