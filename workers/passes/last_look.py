"""A last look at the checks that stand for a step's result, before the step is done.

A later command may have undone what an earlier one brought about. Where both stand for the result,
the step is not done: of two checks that exclude each other, one is always red.
"""

import re
from collections.abc import Sequence

from shared.domain.attempt import Attempt
from shared.domain.outcome import Outcome
from shared.secrets.sent import SentSubtask
from workers.passes.context import PassContext
from workers.passes.history import is_red

MOST_LOOKED_AT = 8
"""How many checks are looked at once more at the end of a pass; each costs a round trip."""

_WORD = re.compile(r"[A-Za-z0-9_./@:+~-]{3,}")


def undone(
    context: PassContext, subtasks: Sequence[SentSubtask]
) -> list[tuple[SentSubtask, Attempt]]:
    """The subtasks that no other one needs and whose checks have turned red again, recorded."""
    found = []
    for subtask in _to_look_at(context, subtasks)[:MOST_LOOKED_AT]:
        if subtask.check is None or context.log.cancelled():
            continue
        context.gate.look_back(subtask, subtask.check)
        look = context.means.look(
            subtask.check,
            timeout=context.order.policy.check_timeout,
            key=context.recorder.look_key(subtask),
        )
        if is_red(look):
            attempt = context.recorder.record_not_run(
                subtask,
                subtask.command,
                Outcome.CHECK_FAILED,
                "its check was green, and is red after what came later in the step",
                check=look,
            )
            found.append((subtask, attempt))
    return found


def _to_look_at(context: PassContext, subtasks: Sequence[SentSubtask]) -> list[SentSubtask]:
    """Those that stand for the result, and of which a command that ran later names something."""
    needed = {key for subtask in subtasks for key in subtask.needs}
    found = []
    for number, subtask in enumerate(subtasks):
        if subtask.check is None or subtask.key in needed:
            continue
        named = _things(subtask.check)
        later = (s for s in subtasks[number + 1 :] if _has_run(context, s))
        if context.means.settles(subtask.check) and any(named & _things(s.command) for s in later):
            found.append(subtask)
    return found


def _things(text: str) -> set[str]:
    """The words of a text that may name something: paths, units, packages, hosts."""
    return set(_WORD.findall(text))


def _has_run(context: PassContext, subtask: SentSubtask) -> bool:
    attempt = context.history.last(subtask.ordinal)
    return attempt is not None and attempt.outcome is Outcome.OK
