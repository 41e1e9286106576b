"""What a person is told about the checks of a plan that cannot show what they should."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from orchestrator.acts.done import Note
from shared.domain.plan import Plan, Subtask
from shared.guard.proofs import ProofRules, proof_rules

MOST_READ = 200
"""How many subtasks of a plan have their checks read; to read one takes some milliseconds."""

_SHOWN = 80


class CheckFault(StrEnum):
    """Why a check or a precondition cannot show what it should."""

    PROVES_NOTHING = "proves nothing"
    CHANGES_SOMETHING = "changes something"
    MISSING = "is missing"  # and an agent's word is all that there is


_TOLD = {
    CheckFault.PROVES_NOTHING: "is green whatever the host is like, so it proves nothing",
    CheckFault.CHANGES_SOMETHING: "changes something on the host instead of only looking at it",
}


@dataclass(frozen=True, slots=True)
class CheckWarning:
    """A check, or a precondition, of the subtask with that number that shows nothing.

    The plan is carried out: a command whose check is of this kind runs in any case.
    """

    step: int
    subtask: int
    field: str
    text: str
    fault: CheckFault

    @property
    def note(self) -> Note:
        """The warning in words."""
        if self.fault is CheckFault.MISSING:
            return Note(
                f"step {self.step}, subtask {self.subtask}: the work of an agent has no check, so "
                "it is done when the agent says so"
            )
        line = " ".join(self.text.split())
        shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
        place = f"step {self.step}, subtask {self.subtask}"
        runs = ", and the command runs in any case" if self.field == "check" else ""
        return Note(f"{place}: the {self.field} `{shown}` {_TOLD[self.fault]}{runs}")


def warnings_on_plan(plan: Plan) -> tuple[CheckWarning, ...]:
    """What is wrong with the checks and preconditions of a plan that a person wrote."""
    return tuple(_warnings((step.ordinal, s) for step in plan.steps for s in step.subtasks))


def warnings_on_list(step: int, subtasks: Iterable[Subtask]) -> tuple[CheckWarning, ...]:
    """The same for the subtasks of one step."""
    return tuple(_warnings((step, subtask) for subtask in subtasks))


def notes(warnings: Iterable[CheckWarning]) -> tuple[Note, ...]:
    """The warnings in words."""
    return tuple(warning.note for warning in warnings)


def _warnings(listed: Iterable[tuple[int, Subtask]]) -> Iterator[CheckWarning]:
    with_looks = ((n, s) for n, s in listed if s.check or s.preconditions or s.agent)
    for step, subtask in islice(with_looks, MOST_READ):
        rules, check = proof_rules(), subtask.check
        if subtask.agent is not None and check is None:
            yield CheckWarning(step, subtask.ordinal, "check", "", CheckFault.MISSING)
        fault = None if check is None else _fault_of(rules, check)
        if check is not None and fault is not None:
            yield CheckWarning(step, subtask.ordinal, "check", check, fault)
        for text in subtask.preconditions:
            if rules.change_in(text):
                changes = CheckFault.CHANGES_SOMETHING
                yield CheckWarning(step, subtask.ordinal, "precondition", text, changes)


def _fault_of(rules: ProofRules, check: str) -> CheckFault | None:
    if rules.is_vacuous(check):
        return CheckFault.PROVES_NOTHING
    return CheckFault.CHANGES_SOMETHING if rules.change_in(check) else None
