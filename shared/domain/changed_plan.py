"""How new steps take their place among those of a run that stay; pure."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from shared.domain.plan import Step


def needs_left(
    needs: Mapping[int, tuple[int, ...]], gone: Collection[int], counts: Callable[[int], bool]
) -> tuple[int, ...]:
    """What the steps that go need of those that stay; `counts` says which can still be met."""
    named = {needed for ordinal in gone for needed in needs[ordinal]} - set(gone)
    return tuple(ordinal for ordinal in sorted(named) if counts(ordinal))


def renumber(steps: tuple[Step, ...], last: int, awaited: tuple[int, ...]) -> tuple[Step, ...]:
    """The steps under new numbers; those without dependencies wait for `awaited`.

    A dependency of 0 or less is a step that is there: 0 the one with the number `last`, -1 the one
    before it.
    """
    return tuple(
        replace(
            step,
            ordinal=last + step.ordinal,
            depends_on=tuple(last + needed for needed in step.depends_on) or awaited,
        )
        for step in steps
    )
