"""What any store must promise about deliveries, and about checkpoints, which are no step's."""

from collections.abc import Iterator

import pytest

from orchestrator import history
from orchestrator.coordinator import Coordinator
from orchestrator.core.state import RunState
from shared.domain import facts as f
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.delivery import (
    Acceptance,
    Checkpoint,
    CheckpointEnding,
    CheckpointPhase,
    DeliveryStatus,
    Judgement,
    Line,
    Published,
    Rejection,
)
from shared.domain.jobs import Job, JobKind
from shared.domain.plan import Plan
from shared.domain.task import RunPhase, TaskPhase
from shared.store.database import Database
from tests.contract.store_under_test import MemoryUnderTest, SqlUnderTest, StoreUnderTest
from tests.fakes.memory_deliveries import MemoryDelivery
from tests.unit.core.deliveries import RED, judged
from tests.unit.core.given import step


@pytest.fixture(params=["memory", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    """A store; at the end, the events of a real one lead to exactly its rows."""
    if request.param == "memory":
        yield MemoryUnderTest()
        return
    database = Database(request.getfixturevalue("database_url"))
    yield SqlUnderTest(database)
    assert history.compare(database).divergences == ()
    database.close()


class Session:
    """A session of two steps, and all workers that it needs."""

    def __init__(self, store: StoreUnderTest, **policy: object) -> None:
        self.store = store
        given = Policy(deliver=True, **policy)  # type: ignore[arg-type]
        self.task = store.submit(["web1"], given, Plan((step(1), step(2))))
        self.held: dict[tuple[JobKind, int | None], Job] = {}
        self.settle()

    def settle(self) -> None:
        """The coordinator decides, and workers take what they are asked for."""
        Coordinator(self.store.ledger).drain()
        for job_id in self.store.waiting():
            job = self.store.claim(job_id)
            assert job is not None
            self.held[job.kind, job.step] = job

    @property
    def run(self) -> RunState:
        """The run as it is stored."""
        (run,) = self.store.runs(self.task).values()
        return run

    def tell(self, fact: f.RunFact) -> None:
        """A person says something."""
        self.store.send([(self.task, self.run.id, fact)])
        self.settle()

    def end(self, kind: JobKind, at: int | None, fact: f.RunFact) -> None:
        """A worker ends its job."""
        assert self.store.finish(self.held.pop((kind, at)), fact)
        self.settle()

    def publishes(self, at: int, **said: bool) -> str:
        """A pass publishes, and says so."""
        job = self.held[JobKind.EXECUTE, at]
        name = f"{at}-{job.pass_no}"
        assert self.store.publish(job, name)
        published = Published(name, **said)  # type: ignore[arg-type]
        place = at, job.revision, job.pass_no
        self.end(JobKind.EXECUTE, at, f.PassFinished(*place, Ending.DONE, 0, published=published))
        return name

    def acceptance(self, at: int) -> Acceptance:
        """How far the delivery of a step has come."""
        acceptance = self.run.steps[at].acceptance
        assert acceptance is not None
        return acceptance

    def is_judged(self, at: int, judgement: Judgement | None = None) -> None:
        """A delivery is judged: green, unless said otherwise."""
        now = self.acceptance(at)
        assert now.line is not None
        name = now.published.delivery
        place = at, self.run.steps[at].revision, self.run.steps[at].pass_no, name
        verdict = judgement or judged(now.line, name)
        self.end(JobKind.ACCEPT, at, f.DeliveryJudged(*place, now.turn, verdict))

    def checkpoint(self, ending: CheckpointEnding) -> f.CheckpointFinished:
        """How the checkpoint under way ended."""
        run = self.run
        assert run.head is not None
        return f.CheckpointFinished(run.checkpoint.number, run.accepted, run.head, ending, "so")

    def deliveries(self) -> list[MemoryDelivery]:
        """The deliveries as they are stored."""
        return self.store.deliveries(self.run.id)


def test_deliveries_come_to_the_head_and_to_the_remote(store: StoreUnderTest) -> None:
    """What decides is stored and read back: line, turn and judgement, head and checkpoint."""
    session = Session(store)
    first, second = session.publishes(1), session.publishes(2)
    assert session.acceptance(2).line == Line(None, (first,))
    session.is_judged(2)
    assert session.acceptance(2).judgement == judged(Line(None, (first,)), second)
    session.is_judged(1)
    head = judged(Line(None, (first,)), second).commit
    assert (session.run.head, session.run.accepted) == (head, 2)
    assert [row.status for row in session.deliveries()] == [DeliveryStatus.ACCEPTED] * 2
    assert session.deliveries()[1].commit == head
    assert session.run.checkpoint == Checkpoint(1, CheckpointPhase.UNDER_WAY, accepted=2)
    done = session.checkpoint(CheckpointEnding.COMPLETE)
    session.end(JobKind.CHECKPOINT, None, done)
    assert [row.status for row in session.deliveries()] == [DeliveryStatus.CHECKPOINTED] * 2
    assert session.deliveries()[1].commit == head
    assert store.task(session.task).phase is TaskPhase.DONE


def test_a_rejected_delivery_says_why_and_by_whom(store: StoreUnderTest) -> None:
    session = Session(store)
    name = session.publishes(1, reviewed=True)
    session.is_judged(1)
    assert (JobKind.REVIEW, 1) in session.held
    said = f.DeliveryReviewed(1, 0, 1, name, approved=False, reviewer="model", reason="no tests")
    session.end(JobKind.REVIEW, 1, said)
    row = MemoryDelivery(
        session.run.id, 1, name, DeliveryStatus.REJECTED, Rejection.REVIEWER, "no tests", None
    )
    row.settled_by = "model"
    assert session.deliveries() == [row]
    assert session.held[JobKind.EXECUTE, 1].pass_no == 2
    assert session.run.steps[1].rejections == 1


def test_what_was_published_unheard_is_withdrawn_with_its_pass(store: StoreUnderTest) -> None:
    """The worker wrote it down; its claim ends before it can tell of it."""
    session = Session(store)
    job = session.held[JobKind.EXECUTE, 1]
    assert store.publish(job, "unheard")
    session.tell(f.RevisionRequested(1, "another way"))
    assert not store.publish(job, "too late")
    assert not store.finish(job, f.PassFinished(1, 0, 1, Ending.DONE, 0))
    assert [row.status for row in session.deliveries()] == [DeliveryStatus.WITHDRAWN]


def test_only_deliveries_of_that_pass_are_withdrawn(store: StoreUnderTest) -> None:
    session = Session(store)
    session.publishes(1)
    session.is_judged(1, RED)
    session.publishes(1)
    session.tell(f.RevisionRequested(1, "another way"))
    assert [row.status for row in session.deliveries()] == [
        DeliveryStatus.REJECTED,
        DeliveryStatus.WITHDRAWN,
    ]


def test_a_checkpoint_is_asked_about_beside_the_steps(store: StoreUnderTest) -> None:
    """Its questions are closed without theirs, and theirs without its."""
    session = Session(store)
    session.publishes(1)
    session.is_judged(1)
    session.end(JobKind.EXECUTE, 2, f.PassFinished(2, 0, 1, Ending.BLOCKED, 1, "forbidden"))
    refused = session.checkpoint(CheckpointEnding.REFUSED)
    session.end(JobKind.CHECKPOINT, None, refused)
    assert store.interventions(session.task) == ["blocked", "checkpoint"]
    session.tell(f.CheckpointRequested("ann"))
    assert store.interventions(session.task) == ["blocked"]
    session.end(JobKind.CHECKPOINT, None, session.checkpoint(CheckpointEnding.DIVERGED))
    session.tell(f.StepAbandoned(2))
    assert store.interventions(session.task) == ["checkpoint"]
    assert session.run.phase is RunPhase.WAITING


@pytest.mark.parametrize("heard", [False, True], ids=["with it", "after it"])
def test_what_reached_the_remote_of_a_cancelled_session_is_recorded(
    store: StoreUnderTest, *, heard: bool
) -> None:
    session = Session(store)
    session.publishes(1)
    session.is_judged(1)
    session.tell(f.CheckpointRequested("ann"))
    done = session.checkpoint(CheckpointEnding.COMPLETE)
    job = session.held[JobKind.CHECKPOINT, None]
    store.send([(session.task, None, f.CancelRequested())])
    if heard:
        session.settle()
    assert store.finish(job, done)
    session.settle()
    assert session.run.phase is RunPhase.CANCELLED
    assert [row.status for row in session.deliveries()] == [DeliveryStatus.CHECKPOINTED]


def test_a_session_is_held_open_and_paused_in_its_row(store: StoreUnderTest) -> None:
    task = store.submit(["web1"], Policy(deliver=True), Plan(()))
    Coordinator(store.ledger).drain()
    (run,) = store.runs(task).values()
    assert (run.held_open, run.paused, run.phase) == (True, False, RunPhase.WAITING)
    for fact in (f.StepsReplaced(0, (), (step(1),), "ann"), f.RunPaused("ann")):
        store.send([(task, run.id, fact)])
    Coordinator(store.ledger).drain()
    (run,) = store.runs(task).values()
    assert (run.held_open, run.paused, run.phase) == (True, True, RunPhase.RUNNING)
