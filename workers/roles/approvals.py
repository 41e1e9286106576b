"""What persons have approved, as one pass sees it: digests made here, compared in the database."""

from dataclasses import dataclass

from shared.domain.approval import Approval, ApprovalRequest, Subject, SubtaskPlace
from shared.domain.errors import Misconfigured
from shared.domain.host import Host
from shared.domain.next_step import NextStep
from shared.secrets.masking import Masker
from shared.secrets.named import variables_in
from shared.store import approvals
from shared.store.database import Database
from workers.passes.ports import Unapproved
from workers.roles.signatures import Signatures


@dataclass(frozen=True, slots=True)
class PassApprovals:
    """The approvals of one step under one revision, on the host as this worker reads it.

    Every question is answered by the rows as they are now (`workers.passes.ports.Approvals`).
    """

    database: Database
    task: int
    step: int
    revision: int
    host: Host
    policy: str
    signatures: Signatures

    def holds(self, subtask: int, text: str) -> bool:
        """Whether there is an approval that is not used up. Raises Transient."""
        with self.database.autocommit() as connection:
            return approvals.holds(connection, self.task, self._digests(subtask, text))

    def spend(self, subtask: int, text: str, key: str) -> bool:
        """Use an approval for what starts under that key; committed when this returns.

        Raises Transient, and Misconfigured when there are some, but none that is to be believed.
        """
        with self.database.autocommit() as connection:
            offered = approvals.candidates(connection, self.task, self._digests(subtask, text), key)
            believed = [
                number
                for number, approval in offered
                if self.signatures.believes(self.task, approval)
            ]
            if offered and not believed:
                raise _unsigned_error(offered[0][1])
            return any(approvals.spend(connection, number, key) for number in believed)

    def question(self, unapproved: Unapproved, masker: Masker) -> ApprovalRequest:
        """The question to a person about a text: all that it would be approved for.

        The text stands there byte for byte: the guard lets nobody approve one with a secret in it.
        """
        verdict = unapproved.verdict
        return ApprovalRequest(
            part=unapproved.part,
            subject=self._subject(unapproved.subtask, unapproved.text),
            rule=verdict.rule,
            reason=masker.text(verdict.reason),
            piece=masker.text(verdict.part),
        )

    def _digests(self, subtask: int, text: str) -> tuple[str, str]:
        subject = self._subject(subtask, text)
        return subject.digest, subject.anywhere().digest

    def _subject(self, subtask: int, text: str) -> Subject:
        return Subject(
            task=self.task,
            place=SubtaskPlace(self.step, self.revision, subtask),
            command=text,
            host=self.host,
            policy=self.policy,
            environment=variables_in(text),
        )


def _unsigned_error(approval: Approval) -> Misconfigured:
    return Misconfigured(
        f"it is approved by {approval.given_by}, it says, but no key that this executor knows has "
        "signed that: give it the key of those who approve (approval_keys)",
        stage="guard",
        next_step=NextStep.of("intervention key"),
    )
