"""Gates about checks: files that decide what the checks of a delivery do.

A delivery that changes them is judged by rules of its own making, so a person looks at it first.
"""

import re
from collections.abc import Iterator, Mapping

from shared.domain.findings import Effect, Finding, GateRule
from workers.deliveries.changes import NO_MODE, FileChange
from workers.deliveries.gates.commands import named_in, used_by, words_of
from workers.deliveries.gates.configurations import (
    definitions_of,
    is_dedicated,
    part_about_checks,
    part_that_is_new,
)
from workers.deliveries.gates.values import GateInput, GatePolicy


def find_changed_checks(given: GateInput) -> Iterator[Finding]:
    """Files that the checks name, that define them, or that tell their programs what to do.

    A step's own checks often name what the step is to make: a new file is not meant.
    """
    policy = given.policy
    named = {path: check for check in policy.checks for path in named_in(check)}
    used = {path: check for check in policy.step_checks for path in used_by(check)}
    defined = _definitions(policy)
    for change in given.changes:
        name = change.path.rpartition("/")[2].casefold()
        known = named.get(change.path)
        if known is None and change.old_mode != NO_MODE:
            known = used.get(change.path)
        if known is None:
            known = next((check for files, check in defined.items() if files.fullmatch(name)), None)
        if known is not None:
            yield Finding(GateRule.CHECKS, Effect.PERSON, change.path, known)
        elif is_dedicated(change.path) or _tells_otherwise(given, change):
            yield Finding(GateRule.CHECKS, Effect.PERSON, change.path)


def _definitions(policy: GatePolicy) -> Mapping[re.Pattern[str], str]:
    """The names of the files that define what the checks do, at any depth, with their checks."""
    found: dict[re.Pattern[str], str] = {}
    for check in (*policy.step_checks, *policy.checks):
        for word in words_of(check):
            pattern = definitions_of(word.rpartition("/")[2])
            if pattern is not None:
                found[re.compile(pattern)] = check
    return found


def _tells_otherwise(given: GateInput, change: FileChange) -> bool:
    """Whether the part of a file has changed that tells programs of checks what to do."""
    old, new = given.old(change), given.new(change)
    if not change.has_old_blob:
        has_checks = bool(given.policy.checks or given.policy.step_checks)
        return has_checks and bool(part_that_is_new(change.path, new))
    if old is None:  # it could not be read
        return bool(part_about_checks(change.path, b"?"))
    before, after = (part_about_checks(change.path, side) or None for side in (old, new))
    return bool(before != after)
