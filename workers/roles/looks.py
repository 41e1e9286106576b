"""What a planning has looked at, and what becomes of its wish to see more."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from shared.domain.attempt import Attempt
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.facts import Fact, LooksRequested
from shared.domain.jobs import Job
from shared.store import looks
from shared.store.database import Database
from shared.store.looks import LookRound
from workers.passes.outcomes import describe_end
from workers.planning import Looks, LooksFirst, SeenLook
from workers.process.leases import Hold


@dataclass(frozen=True, slots=True)
class AskedLook:
    """A look of a round, on the host that it means; `key` is that of its attempt.

    `seen_in` is the round in which the same was asked before: it is not run again.
    """

    key: str
    round_no: int
    host: str
    command: str
    why: str
    seen_in: int | None = None


def asked_looks(rounds: Sequence[LookRound], here: str) -> Iterator[AskedLook]:
    """Every look of these rounds in order; one that names no host means the host `here`."""
    seen: dict[tuple[str, str], AskedLook] = {}
    for each in rounds:
        for position, look in enumerate(each.looks, 1):
            key, place = looks.key(each.id, position), (look.host or here, look.command.strip())
            before = seen.get(place)
            known = (key, None) if before is None else (before.key, before.round_no)
            asked = AskedLook(known[0], each.round_no, place[0], look.command, look.why, known[1])
            seen.setdefault(place, asked)
            yield asked


def looks_of(database: Database, job: Job, policy: Policy, here: str) -> Looks:
    """What the planning of a job has seen so far, and whether it may look again."""
    with database.begin() as connection:
        asked = tuple(asked_looks(looks.rounds_of(connection, job), here))
        found = looks.attempts_at(connection, {each.key for each in asked})
    seen = tuple(_seen(each, found.get(each.key)) for each in asked)
    return Looks(seen, max(0, policy.look_rounds - job.looks), policy.look_rounds)


def _seen(asked: AskedLook, attempt: Attempt | None) -> SeenLook:
    place = asked.round_no, asked.host, asked.command, asked.why
    if asked.seen_in is not None:
        told = f"asked before, in round {asked.seen_in}: not run again, its output stands there"
        return SeenLook(*place, told)
    if attempt is None or attempt.result is None:
        return SeenLook(*place, "not looked" if attempt is None else attempt.reason)
    stdout, stderr = (stream.decode(errors="replace") for stream in attempt.result.streams)
    return SeenLook(*place, describe_end(attempt.result), stdout, stderr)


def may_look(perform: Callable[[Hold], Fact]) -> Callable[[Hold], Fact]:
    """The same work, which ends with a request if the planner wants to see something first."""

    def run(hold: Hold) -> Fact:
        try:
            return perform(hold)
        except LooksFirst as asked:
            return _requested(hold.job, asked)

    return run


def _requested(job: Job, asked: LooksFirst) -> LooksRequested:
    if not asked.looks:
        raise Rejected("the planner asks to see nothing", stage=job.kind.value) from asked
    place = (job.kind, job.step, job.revision, job.pass_no)
    return LooksRequested(*place, job.looks + 1, asked.looks)
