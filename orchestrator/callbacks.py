"""The chained callbacks: what each decision becomes, a row before it is a message.

An error threshold reached is the decision to gather the evidence; its bundle, once there, the
decision to ask the author of the step. Each link is a job in the outbox, so that ending any process
between two links loses nothing.
"""

from orchestrator.core.decisions import Enqueue
from shared.domain.jobs import queue_of
from shared.store.jobs import NewJob


def job_of(task_id: int, run_id: int | None, decision: Enqueue) -> NewJob:
    """The job that a decision asks for, on the queue of the role that is to do it."""
    return NewJob(
        kind=decision.kind,
        queue=queue_of(decision.kind, decision.role).value,
        task_id=task_id,
        run_id=run_id,
        step=decision.step,
        revision=decision.revision,
        pass_no=decision.pass_no,
        attempt=decision.attempt,
        note=decision.note,
        delay=decision.delay,
    )
