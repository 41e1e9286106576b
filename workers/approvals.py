"""What persons have approved, as one pass sees it: digests made here, compared in the database."""

from dataclasses import dataclass

from shared.domain.approval import Asked, Place, Subject
from shared.domain.host import Host
from shared.store import approvals
from shared.store.database import Database
from workers.ports import Unapproved


@dataclass(frozen=True, slots=True)
class PassApprovals:
    """The approvals of one step under one revision, on the host as this worker reads it.

    Every question is answered by the rows as they are now (`workers.ports.Approvals`).
    """

    database: Database
    task: int
    step: int
    revision: int
    host: Host
    policy: str

    def holds(self, subtask: int, text: str) -> bool:
        """Whether there is an approval that is not used up. Raises Transient."""
        with self.database.autocommit() as connection:
            return approvals.holds(connection, self.task, self._digests(subtask, text))

    def spend(self, subtask: int, text: str, key: str) -> bool:
        """Use an approval for what starts under that key; committed when this returns."""
        with self.database.autocommit() as connection:
            return approvals.spend(connection, self.task, self._digests(subtask, text), key)

    def asked(self, unapproved: Unapproved) -> Asked:
        """The question to a person about a text: all that it would be approved for."""
        verdict = unapproved.verdict
        return Asked(
            part=unapproved.part,
            subject=self._subject(unapproved.subtask, unapproved.text),
            rule=verdict.rule,
            reason=verdict.reason,
            piece=verdict.part,
        )

    def _digests(self, subtask: int, text: str) -> tuple[str, str]:
        subject = self._subject(subtask, text)
        return subject.digest, subject.anywhere().digest

    def _subject(self, subtask: int, text: str) -> Subject:
        return Subject(
            task=self.task,
            place=Place(self.step, self.revision, subtask),
            command=text,
            host=self.host,
            policy=self.policy,
        )
