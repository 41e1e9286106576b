"""Decides whether a text of a subtask may reach the target: the guard or a person allows it."""

from collections.abc import Iterable

from shared.domain.approval import SubtaskPart
from shared.domain.config import PLAN, Policy
from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.domain.plan import SubtaskKind
from shared.domain.verdict import ALLOWED, CRITICAL, NOT_PLANNED, Verdict, VerdictKind
from shared.secrets.sent import SentSubtask
from workers.passes.means import Means
from workers.passes.ports import Approvals, Granted, Unapproved, Undo
from workers.passes.recorder import Recorder, subtask_of

_CRITICAL = Verdict(
    VerdictKind.APPROVE, CRITICAL, "a critical command needs a person's confirmation"
)
_PLANNED = Verdict(
    VerdictKind.APPROVE,
    NOT_PLANNED,
    "under `autonomy: plan`, only what was approved with the plan runs",
)


class NothingApproved:
    """No approval has been given (`workers.passes.ports.Approvals`)."""

    def holds(self, subtask: int, text: str) -> bool:  # noqa: ARG002
        """False."""
        return False

    def spend(self, subtask: int, text: str, key: str) -> Granted | None:  # noqa: ARG002
        """None."""
        return None


class ApprovalGate:
    """Clears the texts of one pass, each directly before it runs.

    An approval turns `approve` into `allow`, but never a `deny`. The key of the attempt uses it up
    for good before the text is cleared.
    """

    def __init__(
        self,
        means: Means,
        recorder: Recorder,
        policy: Policy,
        approvals: Approvals | None = None,
    ) -> None:
        self._means = means
        self._recorder = recorder
        self._policy = policy
        self._approvals = approvals or NothingApproved()

    def command(
        self, work: SentSubtask | Undo, text: str, continued: Iterable[str] = ()
    ) -> Verdict:
        """Clear the command of the next attempt, and use up its approval.

        What the attempts with the keys `continued` have used for the goal of an agent is for this
        one too: they asked a person, and their work goes on.
        """
        subtask, key = subtask_of(work), self._recorder.next_key(work)
        verdict = self._verdict_on_command(subtask, text)
        used = continued if _is_goal(subtask, text) else ()
        return self._clear(subtask.ordinal, text, key, verdict, approved_for=(*used, key))

    def remedy(self, subtask: SentSubtask, text: str, approved_for: Iterable[str]) -> Verdict:
        """Clear what is tried after a failed attempt: no approval is for a text of its own.

        The goal of an agent is approved with all its runners. What the attempts with the keys
        `approved_for` have used is for the next runner too, as long as it holds.
        """
        verdict = self._verdict_on_command(subtask, text)
        if not _is_goal(subtask, text):
            return verdict
        key = self._recorder.next_key(subtask)
        return self._clear(subtask.ordinal, text, key, verdict, approved_for=approved_for)

    def look(self, subtask: SentSubtask, text: str) -> Verdict:
        """Clear a check or a precondition for the whole pass, however often it runs."""
        key = self._recorder.look_key(subtask)
        return self._clear(subtask.ordinal, text, key, self._means.check_verdict(text))

    def look_back(self, subtask: SentSubtask, check: str) -> None:
        """Clear the check of a command that has ended.

        A command that an earlier driver of the pass started comes here without a first look.
        Raises Misconfigured when the check may not run: the outcome of the command stays unknown.
        """
        verdict = self.look(subtask, check)
        if not verdict.allowed:
            raise Misconfigured(
                f"a command has ended, but its check may not run: {verdict.reason}",
                stage="guard",
                next_step=NextStep.of("guard check", check),
            )

    def needs_confirmation(self, subtask: SentSubtask) -> bool:
        """Whether a person must confirm the command, so that no other may replace it."""
        return _confirmation_verdict(subtask, self._policy) is not None

    def command_verdict(self, subtask: SentSubtask) -> Verdict:
        """The verdict on the command as long as nobody has approved it."""
        return self._verdict_on_command(subtask, subtask.command)

    def allows(self, subtask: SentSubtask) -> bool:
        """Whether all its texts may run without a person."""
        return not self.needs_confirmation(subtask) and all(
            self._verdict_on(part, text).allowed for part, text in subtask.texts()
        )

    def texts_to_approve(self, work: SentSubtask | Undo) -> tuple[Unapproved, ...]:
        """The texts that a person has yet to approve, in the order in which they would run."""
        subtask = subtask_of(work)
        found: list[Unapproved] = []
        for part, text in subtask.texts():
            of_command = part is SubtaskPart.COMMAND
            verdict = (
                self._verdict_on_command(subtask, text)
                if of_command
                else self._verdict_on(part, text)
            )
            if verdict.allowed or verdict.denied or self._approvals.holds(subtask.ordinal, text):
                continue
            shown = SubtaskPart.ROLLBACK if isinstance(work, Undo) else part
            found.append(Unapproved(subtask.ordinal, shown, text, verdict))
        return tuple(found)

    def _verdict_on(self, part: SubtaskPart, text: str) -> Verdict:
        if part in (SubtaskPart.CHECK, SubtaskPart.PRECONDITION):
            return self._means.check_verdict(text)
        return self._means.verdict(text)

    def _verdict_on_command(self, subtask: SentSubtask, command: str) -> Verdict:
        """The guard's verdict, or why a person must confirm what the guard allows."""
        verdict = self._means.verdict(command)
        return (
            (_confirmation_verdict(subtask, self._policy) or verdict)
            if verdict.allowed
            else verdict
        )

    def _clear(
        self,
        subtask: int,
        text: str,
        key: str,
        verdict: Verdict,
        *,
        approved_for: Iterable[str] | None = None,
    ) -> Verdict:
        if verdict.allowed or verdict.denied:
            return verdict
        keys = (key,) if approved_for is None else approved_for
        spent = (self._approvals.spend(subtask, text, each) for each in keys)
        granted = next(filter(None, spent), None)
        if granted is None:
            return verdict
        self._recorder.granted(key, granted)
        self._means.permit(text, key)
        return ALLOWED


def _is_goal(subtask: SentSubtask, text: str) -> bool:
    return subtask.kind is SubtaskKind.AGENT and text == subtask.command


def _confirmation_verdict(subtask: SentSubtask, policy: Policy) -> Verdict | None:
    """Why a person must confirm the command of a subtask, whatever the guard says about it."""
    if subtask.critical:
        return _CRITICAL
    return _PLANNED if policy.autonomy == PLAN else None
