"""Which step's work in a repository another step continues; pure."""

from collections.abc import Callable, Iterable

from shared.domain.errors import Rejected
from shared.domain.next_step import Advice
from shared.domain.plan import Step, behind


def work_before(steps: Iterable[Step], target: str) -> dict[int, tuple[int, ...]]:
    """The steps of a run whose work each step continues, by number.

    None if it begins where it happens; one, the last that it needs there. It cannot have several:
    they do not build on one another. `target` is where steps happen that name no repository.
    """
    listed = {step.ordinal: step for step in steps}
    depends = {number: step.depends_on for number, step in listed.items()}
    needed = {number: behind(number, depends) for number in listed}
    places = {number: step.repository or target for number, step in listed.items()}
    before: dict[int, tuple[int, ...]] = {}
    for number, place in places.items():
        last: list[int] = []
        covered: set[int] = set()
        # Who needs another step needs all that it needs, and it: it comes first.
        there = [each for each in needed[number] if places.get(each) == place]
        for each in sorted(there, key=lambda found: len(needed[found]), reverse=True):
            if each not in covered:
                last.append(each)
                covered |= needed[each]
        before[number] = tuple(sorted(last))
    return before


def require_rows(
    steps: Iterable[Step],
    on: Iterable[str],
    is_repository: Callable[[str], bool],
    *,
    known: int = 0,
    next_step: Advice | None = None,
) -> None:
    """Raise Rejected for a step that would continue the work of several in one repository.

    `steps` are all of a run on one of these targets. Those up to the number `known` were there
    before: they may be as they are, and are told by their numbers.
    """
    listed = {step.ordinal: step for step in steps}
    for target in on:
        for number, before in work_before(listed.values(), target).items():
            place = listed[number].repository or target
            if number > known and len(before) > 1 and is_repository(place):
                names = [str(n) if n <= known else repr(listed[n].key) for n in (number, *before)]
                why = say_beside(names[0], names[1:], place)
                raise Rejected(why, stage="plan", next_step=next_step)


def say_beside(step: str, before: Iterable[str], place: str) -> str:
    """Say that a step needs several that work in one place side by side, and what to do."""
    return (
        f"step {step} needs the steps {' and '.join(before)}, which work in repository {place!r} "
        "side by side: put them in a row, each with the one before it in its `depends_on`"
    )
