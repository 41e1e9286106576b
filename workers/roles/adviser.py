"""The adviser judges from the evidence whether a failed step is worth another try (S1.35)."""

from shared.domain.facts import Fact, RetryAdvised
from shared.store.database import Database
from workers.planning import ReviseRequest
from workers.process.leases import Hold
from workers.roles.backends import Backends
from workers.roles.briefings import Briefings
from workers.store import step_with_evidence


class Adviser:
    """Answers advising jobs, with the backend that plans subtasks."""

    def __init__(self, database: Database, backends: Backends, briefings: Briefings) -> None:
        self._database = database
        self._backends = backends
        self._briefings = briefings

    def perform(self, hold: Hold) -> Fact:
        """The advice on the most recent failed pass."""
        job = hold.job
        brief, stored = step_with_evidence(self._database, job)
        backend = self._backends.get(brief.task.policy.subtask_planner)
        briefing = self._briefings.of((brief.place,), task_id=brief.task.id, look=False)
        advice = backend.advise(
            ReviseRequest(
                stored.bundle,
                brief.task.policy,
                brief.step,
                brief.subtasks,
                evidence=stored.evidence,
                target=briefing.targets[0],
                rules=briefing.rules,
            )
        )
        return RetryAdvised(
            step=brief.step.ordinal,
            revision=job.revision,
            pass_no=job.pass_no,
            retry=advice.retry,
            delay=advice.delay,
            reason=advice.reason,
        )
