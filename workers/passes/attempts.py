"""The one place where an attempt is begun, run, judged and recorded: a try or a rollback."""

from dataclasses import replace

from shared.domain.attempt import Attempt, CommandResult, EndedBy, Outcome, Ran
from shared.domain.errors import Rejected
from shared.domain.plan import Subtask
from workers.passes.checks import run_check
from workers.passes.context import PassContext
from workers.passes.history import is_red
from workers.passes.means import Try
from workers.passes.outcomes import describe_forced_end
from workers.passes.ports import Undo
from workers.passes.recorder import subtask_of


class Attempts:
    """Runs the attempts of one pass through its means."""

    def __init__(self, context: PassContext, settle: tuple[float, ...] = ()) -> None:
        """`settle` are the pauses before further looks at a check that is red."""
        self._context = context
        self._settle = settle

    def recall(self, work: Subtask | Undo) -> Try | None:
        """The next attempt, where an earlier driver of this pass has started it already."""
        return self._context.means.recall(self._context.recorder.next_key(work))

    def run(
        self,
        work: Subtask | Undo,
        this: Try,
        *,
        may_change: bool = False,
        seen_red: bool = False,
    ) -> Attempt:
        """Run a command that was cleared, look at its check, record the attempt.

        What an earlier driver has started is waited for. `may_change` lets the means repeat it in
        another form while something is in its way; `seen_red` says that its check was red before.
        """
        context = self._context
        draft = context.recorder.draft(work, this.command, Outcome.FAILED, this.remedy)
        context.log.started(draft)
        subtask = subtask_of(work)
        try:
            ran, result = context.means.run(subtask, draft, this, may_change=may_change)
        except Rejected as error:  # the target cannot take it: the planner's error, so it counts
            reason = f"it could not be run: {error.reason}"
            return self._finish(draft, reason=reason)
        draft = replace(
            draft,
            command=ran.command,
            correction=ran.remedy,
            # Of what an earlier driver started, the beginning was then.
            started_at=min(draft.started_at, result.started_at),
            result=result,
        )
        if result.cancelled and self._is_unwanted(draft):
            draft = replace(draft, result=replace(result, ended_by=EndedBy.OPERATOR))
            return self._finish(draft, reason=describe_forced_end("ended by an operator", result))
        check = self._check_after(subtask, result)
        outcome, reason = context.means.outcome(subtask, result, check)
        proven = (
            check is None or seen_red or is_red(check) or context.history.seen_red(subtask.ordinal)
        )
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
        """Whether a person wanted this one attempt ended, and the pass to go on."""
        log = self._context.log
        return not log.withdrawn() and log.unwanted(draft.key)

    def _check_after(self, subtask: Subtask, result: Ran) -> CommandResult | None:
        """The check after a command: patiently when it went well, one look when it did not."""
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
