"""The acceptance checks of a step: what its first plan says holds when the step is done."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from shared.domain.plan import DroppedCheck, Revision, Subtask, SubtaskKind

KEPT = "kept-check"
"""The beginning of the keys of subtasks that make an acceptance check that a revision left out."""

CONFIRM = "confirm-dropped-checks"
"""The key of the subtask that asks a person whether a revision may give up acceptance checks."""

_SHOWN = 500


class Proofs(Protocol):
    """What a text proves, as the guard knows it (`shared.guard.proofs`)."""

    def proves(self, check: str) -> bool:
        """Whether a green answer of that check says anything about the host."""
        ...

    def is_look(self, command: str) -> bool:
        """Whether the command only looks at the host, and can fail there."""
        ...


def acceptance_checks(subtasks: Sequence[Subtask], proofs: Proofs) -> tuple[str, ...]:
    """The checks that stand for the result of a list of subtasks, each once.

    These are the checks of the subtasks that no other one needs. A subtask that has no check of its
    own and whose command is only a look stands for itself; where there is neither, the subtasks
    that it needs take its place.
    """
    by_key = {subtask.key: subtask for subtask in subtasks}
    return tuple(dict.fromkeys(_checks_behind(_last(subtasks), by_key, proofs, set())))


def acceptance_of(revisions: Sequence[Revision], proofs: Proofs) -> tuple[str, ...]:
    """The acceptance checks of a step that none of its revisions has given up."""
    if not revisions:
        return ()
    dropped = [each.check for revision in revisions for each in revision.dropped_checks]
    return _without(acceptance_checks(revisions[0].subtasks, proofs), dropped)


def missing_checks(acceptance: Iterable[str], subtasks: Iterable[Subtask]) -> tuple[str, ...]:
    """The acceptance checks that a new list of a step's subtasks does not make."""
    made = (
        text
        for subtask in subtasks
        for text in (subtask.check, subtask.command)
        if text is not None
    )
    return _without(acceptance, made)


def dropped_by(
    named: Iterable[DroppedCheck], acceptance: Iterable[str], subtasks: Iterable[Subtask]
) -> tuple[DroppedCheck, ...]:
    """Of the checks that an author says it drops, those that its list does drop, in their words."""
    reasons = {_on_one_line(each.check): each.reason for each in named}
    missing = missing_checks(acceptance, subtasks)
    found = ((check, reasons.get(_on_one_line(check))) for check in missing)
    return tuple(DroppedCheck(check, reason) for check, reason in found if reason is not None)


def keep_checks(subtasks: Sequence[Subtask], missing: Iterable[str]) -> tuple[Subtask, ...]:
    """The list, with a subtask at its end for each check that it lacks.

    Such a subtask does nothing but wait for its check to turn green, so that a step is never done
    without what its first plan took for its result. It is a subtask like any other: the guard
    judges it, it is counted, and the evidence shows it.
    """
    kept = list(subtasks)
    needs = tuple(subtask.key for subtask in _last(subtasks))
    for number, check in enumerate(missing, 1):
        kept.append(
            Subtask(
                ordinal=len(kept) + 1,
                key=f"{KEPT}-{number}",
                title="Make the check of the first plan that the revision left out",
                command="true",
                check=check,
                needs=needs,
                idempotent=True,
            )
        )
    return tuple(kept)


def confirm_drops(
    subtasks: Sequence[Subtask], dropped: Sequence[DroppedCheck]
) -> tuple[Subtask, ...]:
    """The list, begun by a subtask that a person must confirm before anything else runs.

    Its command does nothing; it shows each dropped check with the reason.
    """
    if not dropped:
        return tuple(subtasks)
    words = [
        word
        for each in dropped
        for word in (f"dropped check: {_shown(each.check)}", f"reason: {_shown(each.reason)}")
    ]
    confirm = Subtask(
        ordinal=1,
        key=CONFIRM,
        title="Confirm that the step is done without a check of its first plan",
        command=f": {shlex.join(words)}",
        critical=True,
        idempotent=True,
    )
    later = (replace(s, ordinal=s.ordinal + 1, needs=s.needs or (CONFIRM,)) for s in subtasks)
    return (confirm, *later)


def is_added(subtask: Subtask) -> bool:
    """Whether the program has put the subtask into its list, and not the list's author."""
    return subtask.key == CONFIRM or subtask.key.startswith(f"{KEPT}-")


def _last(subtasks: Sequence[Subtask]) -> list[Subtask]:
    """The subtasks that no other one needs."""
    needed = {key for subtask in subtasks for key in subtask.needs}
    return [subtask for subtask in subtasks if subtask.key not in needed]


def _checks_behind(
    subtasks: Iterable[Subtask], by_key: dict[str, Subtask], proofs: Proofs, seen: set[str]
) -> Iterator[str]:
    for subtask in subtasks:
        if subtask.key in seen:
            continue
        seen.add(subtask.key)
        runs = subtask.kind is SubtaskKind.COMMAND
        if subtask.check is not None and proofs.proves(subtask.check):
            yield subtask.check
        elif subtask.check is None and runs and proofs.is_look(subtask.command):
            yield subtask.command
        else:
            needs = (by_key[key] for key in subtask.needs if key in by_key)
            yield from _checks_behind(needs, by_key, proofs, seen)


def _without(checks: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    known = set(map(_on_one_line, others))
    return tuple(check for check in checks if _on_one_line(check) not in known)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _shown(text: str) -> str:
    """The text as an argument that no shell and no vault reads as more than words."""
    line = _on_one_line(text).replace("${secret:", "secret:")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
