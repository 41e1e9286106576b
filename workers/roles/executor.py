"""Execution jobs: one pass over a step on its host, written to the journal as it runs."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic

from shared.domain.budget import Ending
from shared.domain.containment import ContainmentRule
from shared.domain.delivery import Published
from shared.domain.errors import Rejected, Transient
from shared.domain.facts import CleanupFinished, Fact, PassFinished
from shared.domain.jobs import Job, JobKind
from shared.domain.plan import SubtaskKind
from shared.domain.preview import Preview
from shared.domain.provenance import Mark
from shared.domain.secret import named_anywhere
from shared.domain.target import Repository
from shared.guard import Guard, PlanGuard
from shared.secrets.masking import Masker
from shared.secrets.sent import SentSubtask, as_sent, ways_back
from shared.store import approvals as approval_rows
from shared.store import claims, secret_grants
from shared.store.database import Database
from workers.agents.means import commands_of
from workers.deliveries.publisher import Publisher
from workers.passes.clock import SystemClock
from workers.passes.forgotten import forgotten
from workers.passes.history import History
from workers.passes.means import ForgottenError
from workers.passes.passes import carry_out
from workers.passes.ports import PassOrder, PassResult, Unapproved
from workers.passes.to_undo import to_undo
from workers.process.journal import Journal
from workers.process.leases import Hold
from workers.provenance import Left, remembered
from workers.roles.approvals import PassApprovals
from workers.roles.effect_approvals import EffectApprovals
from workers.roles.guards import Guards
from workers.roles.held_log import HeldLog
from workers.roles.pass_means import Agents, PassMeans, PassParts, Place
from workers.roles.previews import preview_with, previews_of
from workers.roles.session_pass import note_worktree, work_of
from workers.roles.shown_records import shown_record
from workers.roles.signatures import Signatures
from workers.roles.task_rules import believed_rules, guard_with_rules
from workers.secrets import (
    Secrecy,
    mask_question,
    mask_unpaid,
    texts_of,
)
from workers.sessions import rejections_of, session_brief
from workers.shells.door import PassJudge
from workers.shells.ports import Connections, KnownClaims, PassRecord
from workers.shells.remote.used_approvals import first_use_on
from workers.store import PassBrief, left_running, pass_brief, subtasks_of_run

ANSWER = "REPLAN_ANSWER"
"""The variable in which a snippet finds the answer of a person."""

FENCES_A_JOB = 100_000
"""No job is claimed more often than this."""


class Executor:
    """Carries out passes, many at once in one process, over connections that stay open."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        connections: Connections,
        guards: Guards,
        secrecy: Secrecy,
        *,
        signatures: Signatures,
        publisher: Publisher | None = None,
        agents: Agents | None = None,
        previews: bool = True,
    ) -> None:
        """With `previews`, a question shows what the command would change."""
        self._previews = previews
        self._publisher = publisher
        self._secrecy = secrecy
        self._database = database
        self._journal = journal
        self._connections = connections
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
            asked=tuple(
                done.approvals.question(each, masker, done.previews.get(each))
                for each in result.unapproved
            ),
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
            given = approval_rows.rules(connection, job.task_id)
            session = (
                session_brief(connection, job, brief.step, brief.repository)
                if brief.policy.deliver and not brief.policy.dry_run_mode
                else None
            )
            rejections = () if session is None else rejections_of(connection, session)
        order = replace(_order(brief, job), rejections=rejections)
        everything = _every_subtask(order)
        self._require_secrets(brief, job, texts_of(everything))
        known = replace(
            self._secrecy.secrets_for(texts_of(everything)),
            given=_answer_variables(order, job.answer or order.step.answer),
        )
        whole = self._guards(order.policy.forbidden_commands, brief.host.name)
        rules = believed_rules(given, job.task_id, brief, self._signatures)
        judging = guard_with_rules(whole, rules)
        texts = _texts(everything)
        judged_together = (*texts, *ways_back(everything))

        def plan_guard(guard: Guard) -> PlanGuard:
            return PlanGuard(
                guard,
                judged_together,
                elsewhere=lambda: self._elsewhere(order),
                remembered=lambda: self._remembered(brief),
                start=None if brief.repository is not None else brief.host.workdir,
            )

        planned = plan_guard(judging)

        def judge_of(guard: Guard) -> PassJudge:
            return PassJudge(
                planned if guard is judging else plan_guard(guard),
                known.masker,
                programs=guard.programs,
                tools=order.step.allowed_tools,
            )

        if not order.policy.dry_run_mode:
            left = _lasting(planned.marks(texts), brief.repository)
            self._journal.leave(job, Left(brief.host.name, job.task_id, left))
        approvals = PassApprovals(
            database=self._database,
            claim=job.claim,
            task=job.task_id,
            step=brief.step.ordinal,
            revision=job.revision,
            host=brief.host,
            policy=whole.version,
            signatures=self._signatures,
            first_use=first_use_on(self._connections, brief.host),
            repository=brief.repository,
            subtasks={s.ordinal: s for s in order.subtasks},
        )
        log = HeldLog(self._journal, hold, known.masker)
        record = replace(_record(brief, hold, log, since), claims=lambda: self._claims(job))
        parts = PassParts(
            order=order,
            record=record,
            control=log,
            secrets=known,
            judge=judge_of(judging),
            setup=whole,
            looks=self._guards.looks() if order.policy.dry_run_mode else None,
            containing=self._guards.containing(whole),
            previews=partial(preview_with, judging, known.masker) if self._previews else None,
            containment_required=whole.policy.containment is ContainmentRule.REQUIRED,
        )
        try:
            opened = self._means.open(
                Place(brief.host, brief.token, brief.repository, brief.after, session), parts
            )
        except ForgottenError as error:
            result = forgotten(order, History(order).errors, error.records)
            return PassDone(brief.step.ordinal, result, approvals, known.masker, frozenset())
        published: Published | None = None
        previews: Mapping[Unapproved, Preview] = {}
        try:
            note_worktree(self._database, job, session, opened)
            allowing = EffectApprovals(
                approvals, order, opened.shell, judging, judge_of, known.masker
            )
            result = carry_out(order, opened.means, log, SystemClock(), approvals=allowing)
            if self._previews:
                agents = {s.ordinal for s in order.subtasks if s.kind is SubtaskKind.AGENT}
                previews = previews_of(
                    opened.shell, result.unapproved, whole, known.masker, goals=agents
                )
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
            brief.step.ordinal,
            result,
            approvals,
            known.masker,
            frozenset(log.ended),
            published,
            previews,
        )

    def _require_secrets(self, brief: PassBrief, job: Job, texts: tuple[str, ...]) -> None:
        """Raise Misconfigured for a secret that the step or its host may not use."""
        if names := named_anywhere("\n".join(texts)):
            with self._database.autocommit() as connection:
                secret_grants.require_given(connection, job.task_id, brief.step.ordinal, names)
                secret_grants.require_scope(connection, brief.host.name, names)

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

    def _remembered(self, brief: PassBrief) -> dict[Mark, str]:
        """What tasks have left on the host. Raises Transient."""
        with self._database.autocommit() as connection:
            found = remembered(connection, brief.host.name)
        return {mark: found[mark] for mark in _lasting(found, brief.repository)}

    def _elsewhere(self, order: PassOrder) -> Iterator[str]:
        """The texts of the run's other steps and revisions; unreadable ones are left out."""
        with self._database.autocommit() as connection:
            planned = subtasks_of_run(connection, order.run_id)
        for subtask in planned:
            with suppress(Rejected):
                yield from (*_texts([as_sent(subtask)]), *ways_back([subtask]))


@dataclass(frozen=True, slots=True)
class PassDone:
    """What came of a pass over a step; `ended` are the keys of its attempts that have ended."""

    step: int
    result: PassResult
    approvals: PassApprovals
    masker: Masker
    ended: frozenset[str]
    published: Published | None = None
    previews: Mapping[Unapproved, Preview] = field(default_factory=dict)


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
        began_red=brief.began_red,
        undo=to_undo(brief.revisions, brief.attempts),
        replies=brief.replies,
    )


def _lasting(marks: Iterable[Mark], repository: Repository | None) -> tuple[Mark, ...]:
    """The marks that mean the same place to other passes.

    In a repository each starts in a folder of its own, and marks take that for the home directory.
    """
    if repository is None:
        return tuple(marks)
    return tuple(mark for mark in marks if not mark.path.startswith("~"))


def _every_subtask(order: PassOrder) -> tuple[SentSubtask, ...]:
    return (*(undo.subtask for undo in order.undo), *order.subtasks)
