"""What stands against carrying out a remembered fix by itself; no policy decides here.

Only a fix that can do no harm is carried out without anybody's eye: it stops and destroys nothing,
names nothing but what the failed step or its output names, proves what the step was to prove, and
has worked twice. Everything else is a hint to a planner.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.fix import Fix, Proof, lost_acceptance, texts_of
from shared.domain.plan import Subtask, SubtaskKind
from shared.guard.effects import ProgramEffect, effects
from shared.guard.programs.effects import Effect

_UNIT = r"(?:service|socket|timer|mount)\b"

ENOUGH = 2
"""How often a fix must have worked under somebody's eye."""


class ObstacleKind(StrEnum):
    """Why a fix is not carried out by itself; the comment says what `about` lists."""

    DESTROYS = "destroys"  # parts of commands that stop or destroy something
    UNKNOWN_EFFECT = "unknown_effect"  # parts of commands of which nobody knows what they do
    PROVES_LESS = "proves_less"  # checks, commands without one, and precautions that it gives up
    VAGUE = "vague"  # nothing: the host did not show why it failed
    UNPROVEN = "unproven"  # where it has worked under whose eyes
    FAILED = "failed"  # nothing: it has failed at least as often as it worked by itself
    RIVALS = "rivals"  # other fixes for the same failure
    DOES_NOT_FIT = "does_not_fit"  # nothing: a word of it cannot be substituted exactly
    NAMES_MORE = "names_more"  # things that neither the step nor its output names


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason why a fix is only a hint."""

    kind: ObstacleKind
    about: tuple[str, ...] = ()


def harm(replaced: Sequence[Subtask], replacement: Sequence[Subtask]) -> tuple[Obstacle, ...]:
    """What the texts of a fix do besides those of the subtasks that it replaces."""
    found = [each for text in new_texts(replaced, replacement) for each in effects(text)]
    destroying = _parts(found, Effect.DESTROYS, Effect.STOPS)
    others = tuple(s.title for s in replacement if s.kind is not SubtaskKind.COMMAND)
    unknown = (*_parts(found, Effect.UNKNOWN), *others)
    less = (*lost_acceptance(replaced, replacement), *_lost_guards(replaced, replacement))
    listed = (
        (ObstacleKind.DESTROYS, destroying),
        (ObstacleKind.UNKNOWN_EFFECT, unknown),
        (ObstacleKind.PROVES_LESS, less),
    )
    return tuple(Obstacle(kind, about) for kind, about in listed if about)


def names_more(
    replaced: Sequence[Subtask], replacement: Sequence[Subtask], output: Iterable[str]
) -> tuple[Obstacle, ...]:
    """The things in the texts of a fix that neither the failed step nor its output names."""
    known = "\n".join((*(text for s in replaced for text in texts_of(s)), *output))
    strange = dict.fromkeys(
        name
        for text in new_texts(replaced, replacement)
        for each in effects(text)
        for name in each.names
        if not stands_in(name, known)
    )
    return (Obstacle(ObstacleKind.NAMES_MORE, tuple(strange)),) if strange else ()


def unproven(proofs: Iterable[Proof], scope: str | None = None) -> tuple[Obstacle, ...]:
    """Whether a fix still has to work on another host, or under other eyes.

    With a `scope`, only proofs on hosts with these labels count.
    """
    counted = {(p.scope, p.target, p.author) for p in proofs if scope is None or p.scope == scope}
    scopes = {place for place, _, _ in counted}
    if any(sum(place == each for place, _, _ in counted) >= ENOUGH for each in scopes):
        return ()
    return (Obstacle(ObstacleKind.UNPROVEN, tuple(f"{t} by {a}" for _, t, a in sorted(counted))),)


def changes_something(fix: Fix, ran: Iterable[int]) -> bool:
    """Whether a subtask of the fix that had something to do did more than look.

    What was only looked at has put nothing right: the fault was gone by itself.
    """
    numbers = set(ran)
    known = {subtask.command for subtask in fix.replaced}
    return any(
        subtask.ordinal in numbers
        and subtask.command not in known
        and (
            subtask.kind is not SubtaskKind.COMMAND
            or any(each.effect is not Effect.LOOKS for each in effects(subtask.command))
        )
        for subtask in fix.replacement
    )


def new_texts(replaced: Sequence[Subtask], replacement: Sequence[Subtask]) -> tuple[str, ...]:
    """The texts of a fix that the failed subtasks do not have, word for word.

    What runs again runs in the same order: out of it, a text is a new one.
    """
    waiting = [subtask.command for subtask in replaced]
    known = {text for subtask in replaced for text in (subtask.check, *subtask.preconditions)}
    rollbacks = {subtask.rollback for subtask in replaced}
    found: list[str] = []
    for subtask in replacement:
        if subtask.command in waiting:
            del waiting[: waiting.index(subtask.command) + 1]
        elif subtask.kind is SubtaskKind.COMMAND:
            found.append(subtask.command)
        looks = (subtask.check, *subtask.preconditions)
        found += [text for text in looks if text is not None and text not in known]
        if subtask.rollback is not None and subtask.rollback not in rollbacks:
            found.append(subtask.rollback)
    return tuple(found)


def stands_in(name: str, text: str) -> bool:
    """Whether a text names that thing: the whole word, or a folder on the way to a path in it."""
    if not name.strip("./~"):
        return False
    end = r"(?![\w+~%-]|\.\w)" if "/" in name else rf"(?![\w/-]|\.(?!{_UNIT})\w)"
    return re.search(rf"(?<![\w./~-]){re.escape(name.rstrip('/'))}{end}", text) is not None


def _lost_guards(replaced: Sequence[Subtask], replacement: Sequence[Subtask]) -> Iterator[str]:
    """Preconditions, rollbacks and marks of critical commands that a fix takes away."""
    for old in replaced:
        again = [new for new in replacement if new.command == old.command]
        for new in again:
            yield from (text for text in old.preconditions if text not in new.preconditions)
            if old.rollback is not None and new.rollback != old.rollback:
                yield old.rollback
            if old.critical and not new.critical:
                yield old.command


def _parts(found: Iterable[ProgramEffect], *kinds: Effect) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.part for each in found if each.effect in kinds))
