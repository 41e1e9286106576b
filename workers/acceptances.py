"""What a worker knows of a delivery that it is to judge."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from shared.domain.delivery import Acceptance
from shared.domain.errors import Transient
from shared.domain.ids import Ref
from shared.domain.jobs import Job
from shared.domain.target import Repository
from shared.secrets.expansion import to_environment
from shared.secrets.sent import as_sent
from shared.store import deliveries, planned
from shared.store.deliveries import StoredDelivery
from workers.store import PassBrief, pass_brief

_KEY = re.compile(r"R(\d+)-(\d+)-r(\d+)-0-p(\d+)-c(\d+)\.\d+(?:\.\d+)?")

_TURN = 1_000_000
"""No step has so many passes: what its judgements leave on a host has numbers beyond them."""


def judged_workspaces(token: str, step: int) -> str:
    """How the names of the workspaces begin in which the deliveries of a step are judged."""
    return f"{token}-{step}-judged-"


@dataclass(frozen=True, slots=True)
class JudgementPlace:
    """A judgement: the `turn` of a delivery that a pass has published."""

    run_id: int
    step: int
    revision: int
    pass_no: int
    turn: int

    @classmethod
    def of_key(cls, key: str) -> "JudgementPlace | None":
        """The judgement of the check with that key; None for the key of anything else."""
        found = _KEY.fullmatch(key)
        return None if found is None else cls(*map(int, found.groups()))

    def key(self, number: int, round_no: int = 1) -> str:
        """The identity of a check in a round; whoever drives it on computes the same."""
        of_pass = f"R{self.run_id}-{self.step}-r{self.revision}-0-p{self.pass_no}"
        first = f"{of_pass}-c{self.turn}.{number}"
        return first if round_no == 1 else f"{first}.{round_no}"

    def workspace(self, token: str) -> str:
        """The name of the workspace with the tree that it judges."""
        return f"{judged_workspaces(token, self.step)}{self.revision}-{self.pass_no}-{self.turn}"

    def has_done_with(self, workspace: str) -> bool:
        """Whether that one, of its step, is its own or that of an earlier judgement."""
        own = (self.revision, self.pass_no, self.turn)
        return tuple(map(int, workspace.rsplit("-", 3)[1:])) <= own

    def record(self, token: str) -> str:
        """Its name on the host; each judgement has a record of its own."""
        number = self.turn * _TURN + self.pass_no
        return f"{token[:2]}/{token}-{self.step}-{self.revision}-{number}"


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
        return tuple(dict.fromkeys((*self.of_repository, *self.of_step)))

    @property
    def of_step(self) -> tuple[str, ...]:
        """The step's own checks, as they are sent.

        An agent's subtask whose own check is only all of the repository's adds none.
        """
        joined = self.repository.check
        own = (as_sent(each).check for each in self.place.subtasks if each.check != joined)
        return tuple(check for check in own if check)

    @property
    def of_repository(self) -> tuple[str, ...]:
        """The checks of the repository, as they are sent: a secret is the variable that holds it.

        Raises Rejected where a secret cannot be named.
        """
        return tuple(to_environment(check)[0] for check in self.repository.checks)

    @property
    def session(self) -> Ref:
        """The session, as people name it."""
        return Ref(self.job.task_id, target=self.repository.name)

    @property
    def judgement(self) -> JudgementPlace:
        """This judgement."""
        job, turn = self.job, self.acceptance.turn
        return JudgementPlace(self.run_id, self.step, job.revision, job.pass_no, turn)

    def key(self, number: int, round_no: int = 1) -> str:
        """The identity of a check of this judgement in a round."""
        return self.judgement.key(number, round_no)


def acceptance_brief(connection: Connection, job: Job) -> AcceptanceBrief:
    """The delivery that a job is to judge. Raises Transient if it is not on its way any more."""
    assert job.run_id is not None and job.step is not None  # noqa: S101, PT018 - of a step
    acceptance = deliveries.acceptance_of(connection, job.run_id, job.step)
    place = pass_brief(connection, job)
    if acceptance is None or acceptance.line is None or place.repository is None:
        raise Transient("the delivery is not on its way any more", stage="accept")
    wanted = (*acceptance.line.ahead, acceptance.published.delivery)
    stored = deliveries.by_digest(connection, wanted)
    steps = {each.step for each in stored.values()}
    return AcceptanceBrief(
        job=job,
        run_id=job.run_id,
        step=job.step,
        repository=place.repository,
        place=place,
        acceptance=acceptance,
        line=tuple(stored[each] for each in wanted),
        titles=planned.titles_of(connection, job.run_id, steps),
    )
