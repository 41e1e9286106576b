"""Execution jobs: one pass over a step on its host, written to the journal as it runs."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from shared.domain.attempt import Attempt
from shared.domain.attempt_notes import AttemptNote
from shared.domain.budget import Ending
from shared.domain.config import union
from shared.domain.delivery import Published
from shared.domain.errors import Rejected, ReplanError, Transient
from shared.domain.facts import CleanupFinished, Fact, PassFinished
from shared.domain.jobs import Job, JobKind
from shared.domain.plan import SubtaskKind
from shared.domain.records import HostRecord
from shared.guard import Guard, PlanGuard, Site, load_site, looks, planner_looks
from shared.secrets.masking import Masker
from shared.secrets.sent import SentSubtask, as_sent
from shared.store import claims
from shared.store.database import Database
from workers.agents.means import commands_of
from workers.deliveries.publisher import Publisher
from workers.passes.clock import SystemClock
from workers.passes.forgotten import forgotten
from workers.passes.history import History
from workers.passes.means import ForgottenError
from workers.passes.passes import carry_out
from workers.passes.ports import PassOrder, PassResult
from workers.passes.to_undo import to_undo
from workers.process.journal import Journal
from workers.process.leases import Hold
from workers.roles.approvals import PassApprovals
from workers.roles.pass_means import Agents, PassMeans, PassParts, Place
from workers.roles.session_pass import note_worktree, work_of
from workers.roles.signatures import Signatures
from workers.secrets import (
    Secrecy,
    mask_attempt,
    mask_note,
    mask_question,
    mask_unpaid,
    texts_of,
)
from workers.sessions import rejections_of, session_brief
from workers.shells.door import PassJudge
from workers.shells.ports import Connections, KnownClaims, PassRecord
from workers.store import PassBrief, left_running, pass_brief, subtasks_of_run

ANSWER = "REPLAN_ANSWER"
"""The variable in which a snippet finds the answer of a person."""

SHOWN = 2000
"""Characters of a command in a host's records that a person is shown."""

_NOTE_PATIENCE = 5.0
"""Seconds for which an agent waits until a note on it is recorded."""

FENCES_A_JOB = 100_000
"""No job is claimed more often than this."""


class Executor:
    """Carries out passes, many at once in one process, over connections that stay open."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        connections: Connections,
        guards: "Guards",
        secrecy: Secrecy,
        *,
        signatures: Signatures,
        publisher: Publisher | None = None,
        agents: Agents | None = None,
    ) -> None:
        self._publisher = publisher
        self._secrecy = secrecy
        self._database = database
        self._journal = journal
        self._means = PassMeans(connections, agents or Agents())
        self._guards = guards
        self._signatures = signatures

    def perform(self, hold: Hold) -> Fact:
        """Carry out one pass. Raises Transient if the host is unreachable or is lost on the way."""
        job = hold.job
        done = self._carry_out(hold, since=job.age)
        result, masker = done.result, done.masker
        return PassFinished(
            step=done.step,
            revision=job.revision,
            pass_no=job.pass_no,
            ending=result.ending,
            errors=result.errors,
            reason=masker.text(result.reason),
            asked=tuple(done.approvals.question(each, masker) for each in result.unapproved),
            error_class=result.error_class,
            question=mask_question(result.question, masker),
            records=tuple(shown_record(record, masker) for record in result.records),
            unpaid=mask_unpaid(result.unpaid, masker),
            published=done.published,
            repeated=result.repeated,
        )

    def clean_up(self, hold: Hold) -> Fact:
        """End what a pass of a cancelled step left running, and start nothing.

        Raises Transient if the host is unreachable, is lost on the way, or does not say how the
        command ended.
        """
        job = hold.job
        if job.step is None:
            raise AssertionError("a clean-up belongs to a step")
        with self._database.autocommit() as connection:
            left = left_running(connection, job)
        if left.keys:
            done = self._carry_out(hold, since=left.age)
            if not left.keys <= done.ended:
                raise Transient("the host does not say how the command ended", stage="execute")
        return CleanupFinished(job.step, job.revision, job.pass_no, job.postponed)

    def _carry_out(self, hold: Hold, *, since: float) -> "PassDone":
        job = hold.job
        with self._database.autocommit() as connection:
            brief = pass_brief(connection, job)
            session = (
                session_brief(connection, job, brief.step, brief.repository)
                if brief.policy.deliver and not brief.policy.dry_run_mode
                else None
            )
            rejections = () if session is None else rejections_of(connection, session)
        order = replace(_order(brief, job), rejections=rejections)
        everything = _every_subtask(order)
        known = replace(
            self._secrecy.secrets_for(texts_of(everything)),
            given=_answer_variables(order, job.answer or order.step.answer),
        )
        whole = self._guards(order.policy.forbidden_commands, brief.host.name)
        guard = PlanGuard(whole, _texts(everything), elsewhere=lambda: self._elsewhere(order))
        approvals = PassApprovals(
            database=self._database,
            claim=job.claim,
            task=job.task_id,
            step=brief.step.ordinal,
            revision=job.revision,
            host=brief.host,
            policy=whole.version,
            signatures=self._signatures,
            repository=brief.repository,
            agents={s.ordinal: s for s in order.subtasks if s.kind is SubtaskKind.AGENT},
        )
        log = HeldLog(self._journal, hold, known.masker)
        record = replace(_record(brief, hold, log, since), claims=lambda: self._claims(job))
        parts = PassParts(
            order=order,
            record=record,
            control=log,
            secrets=known,
            judge=PassJudge(
                guard,
                known.masker,
                programs=whole.programs,
                tools=order.step.allowed_tools,
            ),
            setup=whole,
            looks=self._guards.looks() if order.policy.dry_run_mode else None,
        )
        try:
            opened = self._means.open(
                Place(brief.host, brief.token, brief.repository, brief.after, session), parts
            )
        except ForgottenError as error:
            result = forgotten(order, History(order).errors, error.records)
            return PassDone(brief.step.ordinal, result, approvals, known.masker, frozenset())
        published: Published | None = None
        try:
            note_worktree(self._database, job, session, opened)
            result = carry_out(order, opened.means, log, SystemClock(), approvals=approvals)
            ended = job.kind is JobKind.EXECUTE and result.ending is Ending.DONE
            if session is not None and self._publisher is not None and ended:
                worked = replace(order, earlier=(*order.earlier, *log.done))
                work = work_of(job, worked, session, opened)
                result, published = self._publisher.publish(work, result, known.masker)
        finally:
            opened.means.close()
            if opened.gave_secrets():
                hold.afterwards.append(opened.shell.erase)
        if job.kind is JobKind.EXECUTE:
            hold.afterwards.append(opened.shell.settle)
        return PassDone(
            brief.step.ordinal, result, approvals, known.masker, frozenset(log.ended), published
        )

    def _claims(self, job: Job) -> KnownClaims:
        """What the database knows now of the claims of a step. Raises Transient."""
        if job.run_id is None or job.step is None:
            raise AssertionError("a pass belongs to a step of a run")
        with self._database.autocommit() as connection:
            return KnownClaims(
                claims.known(connection, job.run_id, job.step),
                claims.settled(connection, job.run_id, job.step),
                adopt=job.kind is JobKind.CLEAN_UP,
            )

    def _elsewhere(self, order: PassOrder) -> Iterator[str]:
        """The commands of the run's other steps and revisions; unreadable ones are left out."""
        with self._database.autocommit() as connection:
            planned = subtasks_of_run(connection, order.run_id)
        for subtask in planned:
            with suppress(Rejected):
                yield from _texts([as_sent(subtask)])


@dataclass(frozen=True, slots=True)
class PassDone:
    """What came of a pass over a step; `ended` are the keys of its attempts that have ended."""

    step: int
    result: PassResult
    approvals: PassApprovals
    masker: Masker
    ended: frozenset[str]
    published: Published | None = None


class HeldLog:
    """A pass's view of the journal: everything is written under the fence of its job.

    `ended` are the keys of the attempts that have ended, `done` those attempts, without secrets.
    """

    def __init__(self, journal: Journal, hold: Hold, masker: Masker) -> None:
        self.ended: set[str] = set()
        self.done: list[Attempt] = []
        self._masker = masker
        self._journal = journal
        self._hold = hold

    def started(self, attempt: Attempt) -> None:
        """An attempt begins."""
        self._journal.begin_attempt(self._hold.job, mask_attempt(attempt, self._masker))

    def output(self, key: str, stream: str, chunk: bytes) -> None:
        """Output of an attempt arrived."""
        self._journal.add_output(self._hold.job, key, stream, chunk)

    def note(self, key: str, note: AttemptNote) -> None:
        """Something that people are told about an attempt."""
        noted = mask_note(note, self._masker)
        written = self._journal.add_note(self._hold.job, key, noted)
        with suppress(TimeoutError, ReplanError):
            written.result(timeout=_NOTE_PATIENCE)

    def finished(self, attempt: Attempt) -> None:
        """An attempt ended."""
        masked = mask_attempt(attempt, self._masker)
        self._journal.end_attempt(self._hold.job, masked)
        self.ended.add(attempt.key)
        self.done.append(masked)

    def cancelled(self) -> bool:
        """True once nothing more may be started."""
        return self._hold.withdrawn.is_set() or self.given_up()

    def withdrawn(self) -> bool:
        """True once a person has cancelled the job."""
        return self._hold.withdrawn.is_set()

    def unwanted(self, key: str) -> bool:
        """True once a person wants that attempt ended."""
        return key in self._hold.unwanted

    def given_up(self) -> bool:
        """True once another worker has the job, or this process wants to stop."""
        hold = self._hold
        return (
            hold.lost.is_set()
            or hold.given_up.is_set()
            or (self._journal.is_refused(hold.job) and not hold.withdrawn.is_set())
        )


class Guards:
    """One guard for each policy, which remembers its verdicts."""

    def __init__(
        self,
        policy_file: Path | None = None,
        forbidden: tuple[str, ...] = (),
        *,
        own: Iterable[Path] = (),
    ) -> None:
        """Read the site's policy; raises Misconfigured if it cannot be used.

        `forbidden` is the installation's own list, which applies whatever a task says; `own` are
        its folders, which no planner may look at.
        """
        self._own = tuple(str(place) for place in own)
        self._forbidden = forbidden
        self._site: Site = load_site(policy_file)
        self._by_asked: dict[tuple[tuple[str, ...], str], Guard] = {}
        self._by_version: dict[str, Guard] = {}
        self._looks: Guard | None = None
        self._planner_looks: Guard | None = None
        self._lock = threading.Lock()

    def __call__(self, forbidden: tuple[str, ...], host: str) -> Guard:
        """The guard for a host and a task's own list; hosts with the same policy share a guard.

        Raises Misconfigured if the list or the policy cannot be used.
        """
        asked = (forbidden, host)
        with self._lock:
            if asked not in self._by_asked:
                policy = self._site.for_host(host, union(self._forbidden, forbidden))
                if policy.version not in self._by_version:
                    self._by_version[policy.version] = Guard(policy)
                self._by_asked[asked] = self._by_version[policy.version]
            return self._by_asked[asked]

    def looks(self) -> Guard:
        """The guard that allows only commands that look at a host."""
        with self._lock:
            if self._looks is None:
                self._looks = Guard(looks())
            return self._looks

    def planner_looks(self) -> Guard:
        """The guard that allows only what a planner may look at."""
        with self._lock:
            if self._planner_looks is None:
                self._planner_looks = Guard(planner_looks(self._own))
            return self._planner_looks


def shown_record(record: HostRecord, masker: Masker) -> HostRecord:
    """A host's record as a person is shown it: valid text, without secrets, and not too long."""
    text = record.command.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    masked = masker.values(text)
    return replace(record, command=masked if len(masked) <= SHOWN else f"{masked[:SHOWN]}…")


def _answer_variables(order: PassOrder, answer: str | None) -> dict[str, dict[str, str]]:
    """The answer of a person, for snippets only: commands run in the approved environment."""
    if answer is None:
        return {}
    snippets = (s for s in order.subtasks if s.kind is SubtaskKind.CODE)
    return {snippet.command: {ANSWER: answer} for snippet in snippets}


def _texts(subtasks: Iterable[SentSubtask]) -> tuple[str, ...]:
    """Every text that may be sent to a host as it stands, for the guard to judge together."""
    listed = [subtask for subtask in subtasks if subtask.kind is not SubtaskKind.CODE]
    return (*texts_of(listed), *(text for subtask in listed for text in commands_of(subtask)))


def _record(brief: PassBrief, hold: Hold, log: HeldLog, since: float) -> PassRecord:
    job = hold.job
    return PassRecord(
        # Many runs share the folders in which a host keeps records.
        name=f"{brief.token[:2]}/{brief.token}-{brief.step.ordinal}-{job.revision}-{job.pass_no}",
        # Of several jobs for one pass, the later one has the higher number.
        fence=job.id * FENCES_A_JOB + job.fence,
        resumed=job.resumed,
        since=since,
        valid_for=lambda: hold.valid_until - monotonic(),
        given_up=log.given_up,
        claim=job.token,
    )


def _order(brief: PassBrief, job: Job) -> PassOrder:
    if job.run_id is None:
        raise AssertionError("a pass belongs to a run")
    return PassOrder(
        run_id=job.run_id,
        task_ref=f"T{job.task_id}",
        target=brief.host,
        step=brief.step,
        subtasks=tuple(map(as_sent, brief.subtasks)),
        revision=job.revision,
        pass_no=job.pass_no,
        policy=brief.policy,
        earlier=brief.attempts,
        undo=to_undo(brief.revisions, brief.attempts),
        replies=brief.replies,
    )


def _every_subtask(order: PassOrder) -> tuple[SentSubtask, ...]:
    return (*(undo.subtask for undo in order.undo), *order.subtasks)
