"""The approvals that apply to one pass: this worker makes the digests, the database compares."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.domain.approval import Approval, ApprovalRequest, Subject, SubtaskPlace
from shared.domain.errors import Misconfigured
from shared.domain.host import Host
from shared.domain.jobs import Claim
from shared.domain.next_step import NextStep
from shared.domain.plan import Subtask
from shared.domain.target import Repository
from shared.secrets.masking import Masker
from shared.secrets.sent import variables_in
from shared.store import approvals, jobs
from shared.store.database import Database
from workers.passes.ports import Unapproved
from workers.roles.signatures import Signatures


@dataclass(frozen=True, slots=True)
class PassApprovals:
    """The approvals of one step under one revision, for the host as this worker reads it.

    `repository` is where the step happens, if it is one, and `agents` is the work of its agents, by
    the number of the subtask. Every call reads the current rows (`workers.passes.ports.Approvals`).
    """

    database: Database
    claim: Claim
    task: int
    step: int
    revision: int
    host: Host
    policy: str
    signatures: Signatures
    repository: Repository | None = None
    agents: Mapping[int, Subtask] = field(default_factory=dict)

    def holds(self, subtask: int, text: str) -> bool:
        """Whether there is an unused approval. Raises Transient."""
        with self.database.autocommit() as connection:
            return approvals.holds(connection, self.task, self._digests(subtask, text))

    def spend(self, subtask: int, text: str, key: str) -> bool:
        """Use an approval for the attempt with that key; committed when this returns.

        Raises Transient, also when this worker has lost the job, and Misconfigured if there are
        approvals but none has a valid signature.
        """
        with self.database.begin() as connection:
            jobs.require_held(connection, self.claim, stage="guard")
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
        """What a person is asked to approve: the text and everything the approval binds.

        The text is included byte for byte: the guard does not allow approval of one with a secret.
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
        planned = self.agents.get(subtask)
        is_goal = planned is not None and planned.command == text
        return Subject(
            task=self.task,
            place=SubtaskPlace(self.step, self.revision, subtask),
            command=text,
            host=self.host,
            policy=self.policy,
            environment=() if is_goal else variables_in(text),
            repository=self.repository,
            work=planned.agent if planned is not None and is_goal else None,
        )


def _unsigned_error(approval: Approval) -> Misconfigured:
    return Misconfigured(
        f"the approval names {approval.given_by}, but no key that this executor knows has signed "
        "it: give the executor the public keys of those who approve (approval_keys)",
        stage="guard",
        next_step=NextStep.of("intervention key"),
    )
