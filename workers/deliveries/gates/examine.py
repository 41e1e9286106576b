"""Examines a delivery by every gate."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from shared.domain.findings import Effect, Finding
from workers.deliveries.changes import writable
from workers.deliveries.gates.checks import find_changed_checks
from workers.deliveries.gates.links import find_links_out, find_submodules
from workers.deliveries.gates.names import find_bad_names, find_same_names
from workers.deliveries.gates.paths import (
    find_forbidden,
    find_reverted,
    find_steering,
    find_trust,
)
from workers.deliveries.gates.secrets import find_secrets
from workers.deliveries.gates.values import GateInput, GateReport
from workers.deliveries.gates.weakening import find_weakened_tests
from workers.deliveries.gates.whole import (
    find_excess,
    find_invalid_deliverables,
    find_left_out,
    find_no_op,
    find_same_again,
    find_unknown_base,
    find_unread,
    is_oversized,
)

MOST_NAMED: Final = 20
"""Findings of one rule with one effect that are told one by one; the last one counts the rest."""

_GATES: Final[tuple[Callable[[GateInput], Iterator[Finding]], ...]] = (
    find_unknown_base,
    find_no_op,
    find_same_again,
    find_left_out,
    find_excess,
    find_submodules,
    find_links_out,
    find_bad_names,
    find_same_names,
    find_forbidden,
    find_reverted,
    find_secrets,
    find_invalid_deliverables,
    find_steering,
    find_changed_checks,
    find_weakened_tests,
    find_unread,
    find_trust,
)
_ORDER: Final = (Effect.REFUSE, Effect.PERSON, Effect.REVIEW)


def examine(given: GateInput) -> GateReport:
    """What the gates find in a delivery; pure, and the same for the same input.

    Of one that is oversized, only that is said: its contents are not given.
    """
    gates = (find_excess,) if is_oversized(given) else _GATES
    found = dict.fromkeys(_written(each) for gate in gates for each in gate(given))
    shown = _shortened(found)
    return GateReport(tuple(sorted(shown, key=lambda each: _ORDER.index(each.effect))))


def _written(finding: Finding) -> Finding:
    """The finding in characters that every database and every terminal takes."""
    return replace(finding, path=writable(finding.path), detail=writable(finding.detail))


def _shortened(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The first findings of each rule, and how many more there are."""
    groups: dict[object, list[Finding]] = defaultdict(list)
    for each in findings:
        groups[each.rule, each.effect].append(each)
    for group in groups.values():
        yield from group[: MOST_NAMED - 1]
        if group[MOST_NAMED - 1 :]:
            yield replace(group[MOST_NAMED - 1], more=len(group) - MOST_NAMED)
