"""The port behind which stands whatever carries out the subtasks of a pass: shells, later agents.

The tries of a subtask, the error threshold, evidence, approvals, questions, cancelling, dry runs,
taking over and rollbacks are the pass's. It hands texts on, and reads none of them.
"""

from collections.abc import Collection, Generator
from dataclasses import dataclass
from typing import Protocol

from shared.domain.attempt import Attempt, CommandResult, Outcome, Ran
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.question import Question
from shared.domain.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Try:
    """What one attempt of a subtask runs: its command, or what a remedy made of it.

    `remedy` names the remedy, None for the command as planned; `planned` is the command that the
    remedy was found for, None where that is the command itself. `allowance` are seconds on top of
    the subtask's timeout.
    """

    command: str
    remedy: str | None = None
    planned: str | None = None
    allowance: float = 0.0

    @property
    def source(self) -> str:
        """The command for which the next remedy is sought."""
        return self.command if self.planned is None else self.planned


@dataclass(frozen=True, slots=True)
class Coming:
    """A subtask that comes next if all goes well, and the key of its attempt.

    `satisfied` says that its check is expected to be green already.
    """

    subtask: Subtask
    key: str
    satisfied: bool


class Means(Protocol):
    """What carries out subtasks of some kinds on the target of a pass.

    Whatever reaches the target raises Transient when that cannot be reached or the pass has passed
    to another driver, Misconfigured when it refuses us, and Defect for a text that its guard does
    not allow and that was not `permitted`. A command that has to end because the pass or the
    attempt was cancelled ends with a result that says so.
    """

    @property
    def kinds(self) -> Collection[SubtaskKind]:
        """The kinds of subtasks that it carries out."""
        ...

    @property
    def waits(self) -> Collection[str]:
        """The remedies that only wait: they do not count as corrections (S0.44)."""
        ...

    def verdict(self, text: str) -> Verdict:
        """The guard's verdict on a text, whatever a person may have approved."""
        ...

    def look_verdict(self, text: str) -> Verdict:
        """The verdict on a text that may only look at the target and change nothing."""
        ...

    def permit(self, text: str, key: str) -> None:
        """Let a text run under that key: a person's approval of it has been used."""
        ...

    def look(self, text: str, *, timeout: float, key: str | None = None) -> CommandResult:
        """Run a check or a precondition; it may be repeated. `key` is the one it was cleared for.

        Raises Rejected for a text that the target cannot take.
        """
        ...

    def recall(self, key: str) -> Try | None:
        """What was started under that key by an earlier driver, or by a cancelled pipeline."""
        ...

    def run(
        self, subtask: Subtask, draft: Attempt, this: Try, *, may_change: bool
    ) -> tuple[Try, Ran]:
        """Run one attempt, effectively once for the key of the draft: the try, and its result.

        Whoever asks later with the same key waits for the same result. The try is another than
        `this` where the attempt had to wait and be repeated, which only `may_change` allows.
        Raises Rejected for a command that the target cannot take.
        """
        ...

    def outcome(
        self, subtask: Subtask, result: Ran, check: CommandResult | None
    ) -> tuple[Outcome, str]:
        """What came of an attempt, and the reason in words; `check` is the look after it."""
        ...

    def question(self, attempt: Attempt) -> Question | None:
        """What an attempt that ended as `needs_input` has to know."""
        ...

    def remedy(
        self,
        subtask: Subtask,
        failed: Attempt,
        planned: str,
        *,
        used: Collection[str],
        tried: Collection[str],
    ) -> Try | None:
        """What may help after a failed attempt, once it is time for it; None when nothing will.

        `planned` is the `source` of the failed try. `used` are the remedies and `tried` the
        commands of this subtask in this pass: neither is repeated.
        """
        ...

    def pipeline(self, coming: Generator[Coming]) -> None:
        """Announce what comes next, so that the target need not wait to be asked.

        The means takes from the generator as it needs, and closes it at the first subtask that
        does not end as expected.
        """
        ...

    def cancel_pipeline(self) -> None:
        """Start no more of what was announced; what was started is `recalled` from now on."""
        ...

    def close(self) -> None:
        """Give back what it holds; what still runs on the target goes on."""
        ...
