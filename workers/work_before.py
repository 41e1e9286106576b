"""Which step's work in a repository another step continues; pure."""

from collections.abc import Iterable, Mapping

from shared.domain.errors import Misconfigured
from shared.domain.plan import Step


def step_before(steps: Iterable[Step], step: Step, name: str, target: str) -> int | None:
    """The step whose work in the repository `name` this step of a run continues.

    None if it begins there. `target` is where steps happen that name no repository. Raises
    Misconfigured if there are several that do not build on one another.
    """
    listed = {each.ordinal: each for each in steps}
    needed = _needed(listed, step)
    found = {n for n in needed if n in listed and (listed[n].repository or target) == name}
    last = [n for n in found if not any(n in _needed(listed, listed[m]) for m in found)]
    if len(last) > 1:
        numbers = " and ".join(str(number) for number in sorted(last))
        raise Misconfigured(
            f"step {step.ordinal} needs the steps {numbers}, which work in {name!r} side by side: "
            "let one of them depend on the other",
            stage="execute",
        )
    return last[0] if last else None


def _needed(steps: Mapping[int, Step], step: Step) -> set[int]:
    """The numbers of all steps that a step needs, directly or not."""
    found: set[int] = set()
    waiting = list(step.depends_on)
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += steps[number].depends_on if number in steps else ()
    return found
