"""The port to whatever carries out the subtasks of a pass: shells, and agents.

The pass owns the tries of a subtask, the error threshold, evidence, approvals, questions,
cancelling, dry runs, takeovers and rollbacks. It hands texts on and reads none of them.
"""

from collections.abc import Collection, Generator
from dataclasses import dataclass
from typing import Protocol

from shared.domain.attempt import Attempt, CommandResult, Ran
from shared.domain.outcome import Outcome
from shared.domain.plan import SubtaskKind
from shared.domain.preview import Preview
from shared.domain.question import Question
from shared.domain.records import HostRecord
from shared.domain.verdict import Verdict
from shared.secrets.sent import SentSubtask


@dataclass(frozen=True, slots=True)
class Try:
    """What one attempt of a subtask runs: its command, or the command as a remedy changed it.

    `remedy` names the remedy, None for the command as planned. `planned` is the command that the
    remedy was found for, None if that is the command itself. `allowance` is added to the subtask's
    timeout, in seconds.
    """

    command: str
    remedy: str | None = None
    planned: str | None = None
    allowance: float = 0.0

    @property
    def source(self) -> str:
        """The command that the next remedy starts from."""
        return self.command if self.planned is None else self.planned


@dataclass(frozen=True, slots=True)
class Coming:
    """A subtask that comes next if all goes well, and the key of its attempt.

    `satisfied` says that its check is probably green already.
    """

    subtask: SentSubtask
    key: str
    satisfied: bool


class ForgottenError(Exception):
    """The target has records of this step that the database does not know; nothing may run.

    `records` holds what had started under them.
    """

    def __init__(self, records: tuple[HostRecord, ...]) -> None:
        super().__init__(f"{len(records)} commands on the host are unknown to the database")
        self.records = records


class Means(Protocol):
    """Carries out subtasks of some kinds on the target of a pass.

    Every function that reaches the target raises Transient when the target cannot be reached or
    another driver has the pass, Misconfigured when the target refuses us, ForgottenError when it
    has records of the step that the database does not know, and Defect for a text
    that the guard does not allow and that was not permitted (`permit`). When the pass or the
    attempt is cancelled, the result of the command says so.
    """

    @property
    def kinds(self) -> Collection[SubtaskKind]:
        """The kinds of subtasks that these means carry out."""
        ...

    @property
    def waits(self) -> Collection[str]:
        """The remedies that only wait: they do not count as corrections (S0.44)."""
        ...

    def verdict(self, text: str) -> Verdict:
        """The guard's verdict on a text, whatever a person may have approved."""
        ...

    def check_verdict(self, text: str) -> Verdict:
        """The verdict on a check or a precondition, whatever a person may have approved.

        One that the target keeps from changing anything is allowed, whatever it says.
        """
        ...

    def look_verdict(self, text: str) -> Verdict:
        """The verdict on a text that may look at the target but change nothing."""
        ...

    def preview(self, text: str) -> Preview | None:
        """What a command would change on the target; None if nobody can look. Raises nothing."""
        ...

    def settles(self, check: str) -> bool:
        """Whether that check, green before the command, shows that the command need not run.

        It does not if it looks at nothing, or changes what it looks at.
        """
        ...

    def permit(self, text: str, key: str) -> None:
        """Let a text run under that key: a person's approval was spent on it."""
        ...

    def look(self, text: str, *, timeout: float, key: str | None = None) -> CommandResult:
        """Run a check or a precondition; it may be repeated. `key` is what it was cleared for.

        Raises Rejected for a text that the target cannot take.
        """
        ...

    def recall(self, key: str) -> Try | None:
        """The try that an earlier driver or a cancelled pipeline started under that key."""
        ...

    def run(
        self, subtask: SentSubtask, draft: Attempt, this: Try, *, may_change: bool
    ) -> tuple[Try, Ran]:
        """Run one attempt, effectively once for the key of the draft: the try and its result.

        A later call with the same key waits for the same result. The returned try differs from
        `this` if the attempt had to wait and run again, which only `may_change` allows.
        Raises Rejected for a command that the target cannot take.
        """
        ...

    def outcome(
        self, subtask: SentSubtask, result: Ran, check: CommandResult | None
    ) -> tuple[Outcome, str]:
        """The outcome of an attempt, and the reason in words; `check` is the look after it."""
        ...

    def question(self, attempt: Attempt) -> Question | None:
        """The question of an attempt that ended as `needs_input`."""
        ...

    def remedy(
        self,
        subtask: SentSubtask,
        failed: Attempt,
        planned: str,
        *,
        used: Collection[str],
        tried: Collection[str],
    ) -> Try | None:
        """The try that may help after a failed attempt, once it is due; None if nothing helps.

        `planned` is the `source` of the failed try. `used` holds the remedies and `tried` the
        commands of this subtask in this pass; none of them is repeated.
        """
        ...

    def pipeline(self, coming: Generator[Coming]) -> None:
        """Announce what comes next, so that the target does not wait for each request.

        The means take from the generator as they need, and close it at the first subtask that
        does not end as expected.
        """
        ...

    def cancel_pipeline(self) -> None:
        """Start nothing more of what was announced; `recall` returns what was started."""
        ...

    def close(self) -> None:
        """Release all resources; what still runs on the target goes on."""
        ...
