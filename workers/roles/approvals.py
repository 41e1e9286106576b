"""The approvals that apply to one pass: this worker makes the digests, the database compares."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from shared.domain.approval import (
    Approval,
    ApprovalRequest,
    ApprovalScope,
    Subject,
    SubtaskPart,
    SubtaskPlace,
    approval_id,
)
from shared.domain.errors import Misconfigured
from shared.domain.host import Host
from shared.domain.jobs import Claim
from shared.domain.next_step import NextStep
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.preview import Preview
from shared.domain.target import Repository
from shared.secrets.expansion import to_environment
from shared.secrets.masking import Masker
from shared.secrets.sent import variables_in
from shared.store import approvals, jobs
from shared.store.database import Database
from workers.passes.ports import Granted, Unapproved
from workers.roles.signatures import Signatures

log = structlog.get_logger()

FirstUse = Callable[[str, str], bool]
"""Whether the attempt with that key is the first to use the approval with that id."""


@dataclass(frozen=True, slots=True)
class PassApprovals:
    """The approvals of one step under one revision, for the host as this worker reads it.

    `repository` is where the step happens, if it is one, and `subtasks` is its work, by number.
    Every call reads the current rows (`workers.passes.ports.Approvals`).

    What the rows say of an approval for one use is not enough: `first_use` asks the host, whose
    record nobody changes who can only write to the database.
    """

    database: Database
    claim: Claim
    task: int
    step: int
    revision: int
    host: Host
    policy: str
    signatures: Signatures
    first_use: FirstUse
    repository: Repository | None = None
    subtasks: Mapping[int, Subtask] = field(default_factory=dict)
    _used_before: set[int] = field(default_factory=set)

    def holds(self, subtask: int, text: str) -> bool:
        """Whether there is an unused approval. Raises Transient."""
        with self.database.autocommit() as connection:
            unused = approvals.unused(connection, self.task, self._digests(subtask, text))
        return bool(unused - self._used_before)

    def spend(self, subtask: int, text: str, key: str) -> Granted | None:
        """Use an approval for the attempt with that key; recorded for good when this returns.

        Raises Transient, also when this worker has lost the job, and Misconfigured if there are
        approvals but none has a valid signature.
        """
        with self.database.begin() as connection:
            jobs.require_held(connection, self.claim, stage="guard")
            offered = approvals.candidates(connection, self.task, self._digests(subtask, text), key)
        believed = [
            (number, approval)
            for number, approval in offered
            if self.signatures.believes(self.task, approval)
        ]
        if offered and not believed:
            raise _unsigned_error(offered[0][1])
        used = any(self._use(number, approval, key) for number, approval in believed)
        return Granted() if used else None

    def _use(self, number: int, approval: Approval, key: str) -> bool:
        with self.database.begin() as connection:
            jobs.require_held(connection, self.claim, stage="guard")
            if not approvals.spend(connection, number, key):
                return False
        if approval.scope is ApprovalScope.TASK:
            return True
        if self.first_use(approval_id(self.task, approval), key):
            return True
        self._used_before.add(number)
        log.warning("approval_used_before", approval=number, key=key, host=self.host.name)
        return False

    def question(
        self, unapproved: Unapproved, masker: Masker, preview: Preview | None = None
    ) -> ApprovalRequest:
        """What a person is asked to approve: the text and everything the approval binds.

        The `preview` is shown with it; no approval is bound to it.

        The text is included byte for byte: the guard does not allow approval of one with a secret.
        """
        verdict = unapproved.verdict
        return ApprovalRequest(
            part=unapproved.part,
            subject=self._subject(unapproved.subtask, unapproved.text),
            rule=verdict.rule,
            reason=masker.text(verdict.reason),
            piece=masker.text(verdict.part),
            rollback=masker.text(self._rollback(unapproved)),
            preview=preview,
        )

    def _rollback(self, unapproved: Unapproved) -> str:
        """What would undo the command, as it would reach the host."""
        planned = self.subtasks.get(unapproved.subtask)
        if planned is None or not planned.rollback or unapproved.part is not SubtaskPart.COMMAND:
            return ""
        return to_environment(planned.rollback)[0]

    def _digests(self, subtask: int, text: str) -> tuple[str, str]:
        subject = self._subject(subtask, text)
        return subject.digest, subject.anywhere().digest

    def _subject(self, subtask: int, text: str) -> Subject:
        planned = self.subtasks.get(subtask)
        is_agent = planned is not None and planned.kind is SubtaskKind.AGENT
        is_goal = planned is not None and is_agent and planned.command == text
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
