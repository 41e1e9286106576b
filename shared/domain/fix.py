"""A fix: what put a failed step right.

A fix is a patch of a step: the subtasks that failed, and those that stood in their place when the
step's checks were green. The subtasks before and after them are not part of the fix, so applying it
to another step (`shared.domain.fitting`) loses nothing there.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shared.domain.plan import Subtask


@dataclass(frozen=True, slots=True)
class FailurePattern:
    """What a failed step shows, in a form that is the same wherever it fails in that way.

    `signature` is a digest of `told`, the normal form of the failure; `family` is the kind of host.
    `failed` holds the numbers of the failed subtasks and `hosts` the names of the host; neither is
    part of the signature.

    `words` are plain words of the commands that their output or checks say, too: they name things,
    which have other names elsewhere. `named` are the things that the causes name, in order. `cues`
    find fixes that may be worth a look. A failure is `vague` if the host does not show why it
    occurred: then another failure may look the same.
    """

    signature: str
    family: str
    told: tuple[str, ...]
    failed: tuple[int, ...]
    hosts: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    vague: bool = False


@dataclass(frozen=True, slots=True)
class Fix:
    """Subtasks that failed, and those that stood in their place when the step was done.

    `hosts` holds the names of the host on which it was learnt; `words` and `named` are those of the
    failure there, and `step` is the digest of the whole step that failed.
    """

    replaced: tuple[Subtask, ...]
    replacement: tuple[Subtask, ...]
    hosts: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    step: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """A step that a fix put right under the eye of its author, on a host with these labels.

    `scope` holds the labels of the host; proofs count for hosts with the same ones.
    """

    target: str
    author: str
    scope: str = ""


LEAST_USES = 4
"""After this many uses, a fix must have worked at least every second time."""

MOST_FAILURES = 2
"""A fix that has not worked in this many first uses is retired."""

MOST_TEXT = 20_000
"""Steps with more command text than this (whole programs, say) are not learnt from."""


def wears_out(worked: int, failed: int) -> bool:
    """Whether to retire a fix: it never works, or less than every second time."""
    if worked == 0:
        return failed >= MOST_FAILURES
    return worked + failed >= LEAST_USES and worked < failed


def learnt(
    before: Sequence[Subtask], after: Sequence[Subtask], failure: FailurePattern
) -> Fix | None:
    """The difference between a revision that failed and one that was done; None if there is none.

    Equal subtasks at the beginning and at the end are left out, unless they failed. A list that
    gives up a check teaches nothing: what it proves is not what was to be proved. Neither does one
    with the work of an agent: what it did is in its repository, not in its goal.
    """
    if any(subtask.agent is not None for subtask in (*before, *after)):
        return None
    if sum(len(text) for subtask in (*before, *after) for text in texts_of(subtask)) > MOST_TEXT:
        return None
    if lost_checks(before, after):
        return None
    failed = set(failure.failed)
    start = _common(before, after, failed)
    back, forth = before[start:][::-1], after[start:][::-1]
    end = _common(back, forth, failed)
    replaced = tuple(before[start : len(before) - end])
    replacement = tuple(after[start : len(after) - end])
    if not replaced or not replacement:
        return None
    step = step_digest(before)
    return Fix(replaced, replacement, failure.hosts, failure.words, failure.named, step)


def lost_checks(before: Iterable[Subtask], after: Iterable[Subtask]) -> tuple[str, ...]:
    """The checks of a list that another one no longer makes, word for word."""
    kept = {text for subtask in after for text in (subtask.check, subtask.command)}
    return tuple(s.check for s in before if s.check is not None and s.check not in kept)


def lost_acceptance(before: Iterable[Subtask], after: Iterable[Subtask]) -> tuple[str, ...]:
    """The proofs of a list that another one no longer has: checks, or commands without one."""
    kept = {text for subtask in after for text in (subtask.check, subtask.command)}
    proofs = (s.command if s.check is None else s.check for s in before)
    return tuple(proof for proof in proofs if proof not in kept)


def step_digest(subtasks: Iterable[Subtask]) -> str:
    """The same for two lists of subtasks that are equal word for word."""
    said = [list(map(str, essence(subtask))) for subtask in subtasks]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def _common(one: Sequence[Subtask], other: Sequence[Subtask], failed: set[int]) -> int:
    """How many subtasks from the beginning are equal and have not failed."""
    same = 0
    for left, right in zip(one, other, strict=False):
        if left.ordinal in failed or essence(left) != essence(right):
            break
        same += 1
    return same


def essence(subtask: Subtask) -> tuple[object, ...]:
    """What identifies a subtask: everything except its number, name and title."""
    return (
        subtask.kind,
        subtask.critical,
        subtask.command,
        subtask.check,
        subtask.preconditions,
        subtask.rollback,
    )


def texts_of(subtask: Subtask) -> tuple[str, ...]:
    """Every text that a host would run."""
    listed = (subtask.command, subtask.check, subtask.rollback, *subtask.preconditions)
    return tuple(text for text in listed if text is not None)
