"""What a worker knows of the session that a step delivers to."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

from shared.domain.delivery import DeliveryStatus, issue_id
from shared.domain.ids import Ref
from shared.domain.jobs import Job
from shared.domain.plan import Step
from shared.domain.rejected_delivery import RejectedDelivery
from shared.domain.target import Repository
from shared.store import deliveries, rejected_deliveries
from shared.store.deliveries import StoredDelivery
from workers.store import StepBrief

_TARGET = text("SELECT target FROM runs WHERE id = :run_id")


@dataclass(frozen=True, slots=True)
class SessionBrief:
    """The session of a step: where it stands, and what of the step it has sent back.

    `head` is its newest commit, None where it began. `sent_back` are the deliveries of the step
    that were rejected or refused, oldest first.
    """

    ref: Ref
    issue: str
    head: str | None
    accepted: int
    sent_back: tuple[StoredDelivery, ...] = ()

    @property
    def rejected(self) -> tuple[StoredDelivery, ...]:
        """Those that were published before: each of them ended a workspace."""
        return tuple(d for d in self.sent_back if d.status is DeliveryStatus.REJECTED)


def session_brief(
    connection: Connection, job: Job, step: Step, repository: Repository | None
) -> SessionBrief | None:
    """The session of a job's step; None if the step happens in another place than its run."""
    if job.run_id is None or repository is None:
        return None
    target = connection.execute(_TARGET, {"run_id": job.run_id}).scalar_one()
    if target != repository.name:
        return None
    stands = deliveries.head_of(connection, job.run_id)
    return SessionBrief(
        ref=Ref(job.task_id, target=target),
        issue=issue_id(job.task_id, step.ordinal, step.key),
        head=stands.head,
        accepted=stands.accepted,
        sent_back=deliveries.sent_back(connection, job.run_id, step.ordinal),
    )


def rejections_of(connection: Connection, session: SessionBrief) -> tuple[RejectedDelivery, ...]:
    """Why the deliveries of a step were sent back, for whoever works on it next."""
    first = next(iter(session.sent_back), None)
    if first is None:
        return ()
    return rejected_deliveries.of_step(connection, first.run_id, first.step)


def delivering_session(connection: Connection, job: Job, brief: StepBrief) -> SessionBrief | None:
    """The session that a step delivers to; None if it delivers nothing."""
    if not brief.task.policy.deliver:
        return None
    return session_brief(connection, job, brief.step, brief.repository)
