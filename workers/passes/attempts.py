"""Starts, runs, judges and records attempts, both tries and rollbacks; nothing else does."""

from dataclasses import replace

from shared.domain.attempt import Attempt, CommandResult, EndedBy, Ran
from shared.domain.errors import Rejected
from shared.domain.outcome import Outcome
from shared.domain.records import HostRecord
from shared.secrets.sent import SentSubtask
from workers.passes.checks import run_check
from workers.passes.context import PassContext
from workers.passes.history import is_red
from workers.passes.means import ForgottenError, Try
from workers.passes.outcomes import describe_forced_end
from workers.passes.ports import Undo
from workers.passes.recorder import subtask_of


class Attempts:
    """Runs the attempts of one pass through its means."""

    def __init__(self, context: PassContext, settle: tuple[float, ...] = ()) -> None:
        """`settle` holds the pauses, in seconds, before each further look at a red check."""
        self._context = context
        self._settle = settle

    def recall(self, work: SentSubtask | Undo) -> Try | None:
        """The next attempt, if an earlier driver of this pass has already started it.

        Raises ForgottenError if another text than the planned one was started as the first try.
        """
        key = self._context.recorder.next_key(work)
        known = self._context.means.recall(key)
        subtask = subtask_of(work)
        planned = isinstance(work, Undo) or not self._context.history.next_try(subtask.ordinal)
        if planned and known is not None and not known.remedy and known.command != subtask.command:
            raise ForgottenError((self._foreign(work, key, known),))
        return known

    def _foreign(self, work: SentSubtask | Undo, key: str, known: Try) -> HostRecord:
        order = self._context.order
        return HostRecord(
            claim="",
            revision=work.revision if isinstance(work, Undo) else order.revision,
            pass_no=order.pass_no,
            key=key,
            subtask=subtask_of(work).ordinal,
            command=known.command,
            running=False,
            exit_code=None,
            differs=True,
        )

    def run(
        self,
        work: SentSubtask | Undo,
        this: Try,
        *,
        may_change: bool = False,
        seen_red: bool = False,
    ) -> Attempt:
        """Run a cleared command, look at its check, and record the attempt.

        If an earlier driver started the command, wait for it. `may_change` lets the means repeat
        it in another form while something blocks it; `seen_red` says that its check was red before.
        """
        context = self._context
        subtask = subtask_of(work)
        draft = context.recorder.draft(work, this.command, Outcome.FAILED, this.remedy)
        seen_red = (
            seen_red
            or draft.key in context.order.began_red
            or context.history.seen_red(subtask.ordinal)
        )
        context.log.started(replace(draft, never_red=not seen_red))
        try:
            ran, result = context.means.run(subtask, draft, this, may_change=may_change)
        except Rejected as error:  # the target cannot take it: the planner's error, so it counts
            reason = f"it could not be run: {error.reason}"
            return self._finish(draft, reason=reason)
        draft = replace(
            draft,
            command=ran.command,
            correction=ran.remedy,
            # An earlier driver may have started it.
            started_at=min(draft.started_at, result.started_at),
            result=result,
        )
        if result.cancelled and self._is_unwanted(draft):
            draft = replace(draft, result=replace(result, ended_by=EndedBy.OPERATOR))
            return self._finish(draft, reason=describe_forced_end("ended by an operator", result))
        check = self._check_after(subtask, result)
        outcome, reason = context.means.outcome(subtask, result, check)
        proven = check is None or seen_red or is_red(check)
        return self._finish(
            draft, outcome=outcome, reason=reason, check=check, never_red=not proven
        )

    def _finish(
        self,
        draft: Attempt,
        *,
        reason: str,
        outcome: Outcome = Outcome.FAILED,
        check: CommandResult | None = None,
        never_red: bool = False,
    ) -> Attempt:
        return self._context.recorder.finish(
            replace(
                draft,
                outcome=outcome,
                reason=reason,
                ended_at=self._context.clock.now(),
                check=check,
                never_red=never_red,
            )
        )

    def _is_unwanted(self, draft: Attempt) -> bool:
        """Whether a person wants to end this attempt but continue the pass."""
        log = self._context.log
        return not log.withdrawn() and log.unwanted(draft.key)

    def _check_after(self, subtask: SentSubtask, result: Ran) -> CommandResult | None:
        """Look at the check after a command: repeatedly if it went well, once if it did not."""
        context = self._context
        if subtask.check is None or result.cancelled:
            return None
        context.gate.look_back(subtask, subtask.check)
        return run_check(
            subtask.check,
            context.means,
            context.clock,
            context.log.cancelled,
            key=context.recorder.look_key(subtask),
            timeout=context.order.policy.check_timeout,
            settle=self._settle if result.ok else (),
        )
