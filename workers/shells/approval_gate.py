"""Whether a text of a subtask may reach the host: by the guard's leave, or by a person's."""

import shlex

from shared.domain.approval import Part
from shared.domain.config import PLAN, Policy
from shared.domain.errors import Misconfigured
from shared.domain.plan import Subtask
from shared.domain.snippet import text_of
from shared.domain.verdict import Verdict, VerdictKind
from workers.passes.ports import Unapproved
from workers.passes.recorder import Recorder
from workers.shells.door import Door

_CRITICAL = Verdict(
    VerdictKind.APPROVE, "critical", "a critical command needs a person's confirmation"
)
_PLANNED = Verdict(
    VerdictKind.APPROVE, "plan", "under `autonomy: plan` only what was approved with the plan runs"
)


class Clearance:
    """Clears the texts of one pass at its door, each directly before it runs."""

    def __init__(self, door: Door, recorder: Recorder, policy: Policy) -> None:
        self._door = door
        self._recorder = recorder
        self._policy = policy

    def command(self, subtask: Subtask, text: str) -> Verdict:
        """Clear the command of the attempt that comes next; an approval of it is used up."""
        key = self._recorder.next_key(subtask)
        why = unconfirmed(subtask, self._policy)
        return self._door.clear(subtask.ordinal, text, key, unconfirmed=why)

    def look(self, subtask: Subtask, text: str) -> Verdict:
        """Clear a check or a precondition for the whole pass, however often it is looked at."""
        return self._door.clear(subtask.ordinal, text, self._recorder.look_key(subtask))

    def look_back(self, subtask: Subtask, check: str) -> None:
        """Clear the check of a command that has ended.

        What an earlier driver of the pass has begun comes here without a first look. Raises
        Misconfigured when nobody lets it be looked at: what came of the command stays unsaid.
        """
        verdict = self.look(subtask, check)
        if not verdict.allowed:
            raise Misconfigured(
                f"a command has ended, and its check may not be looked at: {verdict.reason}",
                stage="guard",
                next_step_cmd=f"replan guard check {shlex.quote(check)}",
            )

    def confirmed(self, subtask: Subtask) -> bool:
        """Whether a person must have seen the command, so that no other may take its place."""
        return unconfirmed(subtask, self._policy) is not None

    def foretold(self, subtask: Subtask, text: str) -> Verdict:
        """What clearing a command would say before anybody has approved it."""
        verdict = self._door.verdict(text)
        return (unconfirmed(subtask, self._policy) or verdict) if verdict.allowed else verdict

    def unapproved(self, subtask: Subtask) -> tuple[Unapproved, ...]:
        """What of a subtask a person has yet to approve, in the order in which it would run."""
        texts = [(Part.PRECONDITION, text) for text in subtask.preconditions]
        if subtask.check is not None:
            texts.insert(0, (Part.CHECK, subtask.check))
        found = [(part, text, self._door.unapproved(subtask.ordinal, text)) for part, text in texts]
        command, why = text_of(subtask), unconfirmed(subtask, self._policy)
        verdict = self._door.unapproved(subtask.ordinal, command, unconfirmed=why)
        found.append((Part.COMMAND, command, verdict))
        return tuple(
            Unapproved(subtask.ordinal, part, text, verdict)
            for part, text, verdict in found
            if verdict is not None
        )


def unconfirmed(subtask: Subtask, policy: Policy) -> Verdict | None:
    """Why a person must have confirmed a subtask's command, whatever the guard says of it."""
    if subtask.critical:
        return _CRITICAL
    return _PLANNED if policy.autonomy == PLAN else None
