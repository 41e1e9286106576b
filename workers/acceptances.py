"""What a worker knows of a delivery that it is to judge."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from shared.domain.delivery import Acceptance
from shared.domain.errors import Transient
from shared.domain.ids import Ref
from shared.domain.jobs import Job
from shared.domain.target import Repository
from shared.store import deliveries, planned
from shared.store.deliveries import StoredDelivery
from workers.store import PassBrief, pass_brief


@dataclass(frozen=True, slots=True)
class AcceptanceBrief:
    """A delivery to judge: `line` are those ahead of it, in their order, and it."""

    job: Job
    run_id: int
    step: int
    repository: Repository
    place: PassBrief
    acceptance: Acceptance
    line: tuple[StoredDelivery, ...]
    titles: Mapping[int, str]

    @property
    def own(self) -> StoredDelivery:
        """The delivery itself."""
        return self.line[-1]

    @property
    def checks(self) -> tuple[str, ...]:
        """What must be green on the merged tree: the repository's checks, and the step's own."""
        own = (subtask.check for subtask in self.place.subtasks if subtask.check)
        return tuple(dict.fromkeys((*self.repository.checks, *own)))

    @property
    def session(self) -> Ref:
        """The session, as people name it."""
        return Ref(self.job.task_id, target=self.repository.name)

    def key(self, number: int) -> str:
        """The identity of a check of this judgement: whoever drives it on computes the same."""
        job, turn = self.job, self.acceptance.turn
        return f"R{self.run_id}-{self.step}-r{job.revision}-0-p{job.pass_no}-c{turn}.{number}"


def acceptance_brief(connection: Connection, job: Job) -> AcceptanceBrief:
    """The delivery that a job is to judge. Raises Transient if it is not on its way any more."""
    assert job.run_id is not None and job.step is not None  # noqa: S101, PT018 - of a step
    acceptance = deliveries.acceptance_of(connection, job.run_id, job.step)
    place = pass_brief(connection, job)
    if acceptance is None or acceptance.line is None or place.repository is None:
        raise Transient("the delivery is not on its way any more", stage="accept")
    wanted = (*acceptance.line.ahead, acceptance.published.delivery)
    stored = deliveries.by_digest(connection, wanted)
    steps = planned.steps_of(connection, job.run_id)
    return AcceptanceBrief(
        job=job,
        run_id=job.run_id,
        step=job.step,
        repository=place.repository,
        place=place,
        acceptance=acceptance,
        line=tuple(stored[each] for each in wanted),
        titles={each.ordinal: each.title or each.key for each in steps},
    )
