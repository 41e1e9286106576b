"""Review jobs: somebody who did not write a delivery reads it, and says whether it is good.

A reviewer is an agent in a workspace of its own that holds exactly the tree to be published. Its
attempt is in the ledger like any other; it is started once for its key, whatever dies. What it
changes in its workspace is nothing to anybody.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Final

from shared.contracts.project import ReviewResult
from shared.domain.agent import (
    HOLDS_TOOLS,
    REVIEWERS,
    Compliance,
    ExecutionMode,
    StuckStrategy,
    Watchdog,
)
from shared.domain.attempt import Attempt
from shared.domain.delivery_facts import DeliveryReviewed
from shared.domain.errors import Defect, Misconfigured, Rejected, Transient
from shared.domain.facts import Fact
from shared.domain.ids import LOOKS, attempt_key
from shared.domain.next_step import NextStep
from shared.domain.outcome import Outcome
from shared.domain.target import Repository
from shared.secrets.masking import Masker
from shared.store import claims, looks, rejected_deliveries, reviews
from shared.store.database import Database
from shared.store.jobs import require_held
from shared.store.reviews import ReviewedDelivery, StoredReview
from workers.agents.agent_task import AgentTask
from workers.agents.bench import StepBench
from workers.agents.containment.containing import HostContainment
from workers.agents.development import dev_task
from workers.agents.outcomes import agent_outcome
from workers.agents.process_signs import look_at_processes
from workers.agents.review import FORM, MOST_PATCH, READING, ReviewOrder, read_review, review_text
from workers.agents.review import reviewers_of as reviewers_named
from workers.agents.running import AgentRuns
from workers.agents.task_text import Assignment
from workers.agents.workspaces.values import Workspace
from workers.agents.workspaces.workspaces import Workspaces
from workers.passes.clock import SystemClock
from workers.passes.means import ForgottenError, Try
from workers.process.journal import Journal
from workers.process.leases import Hold
from workers.roles.executor import FENCES_A_JOB
from workers.roles.held_log import HeldLog
from workers.roles.pass_means import Agents
from workers.secrets import Secrecy, mask_json
from workers.shells.ports import Call, Connections, KnownClaims, PassRecord, Shell
from workers.store import StepBrief, step_brief

REVIEW_SECONDS: Final = 1800.0
"""How long a reviewer may take for one answer."""

MOST_TRIES: Final = 2
"""How many reviewers are asked, or how often one is, before a person has to review."""

_REVIEWS: Final = 10**12
"""No step has so many passes or judgements: what its reviews leave on a host is beyond them."""

_LOOK_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Review:
    """A review to make: the delivery, who may review it, and what they are asked."""

    brief: StepBrief
    repository: Repository
    delivery: ReviewedDelivery
    keys: tuple[str, ...]
    number: int
    masker: Masker


class Reviewer:
    """Reviews deliveries with runners, over the connections that the executor keeps open."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        connections: Connections,
        secrecy: Secrecy,
        agents: Agents | None = None,
    ) -> None:
        self._database = database
        self._journal = journal
        self._connections = connections
        self._secrecy = secrecy
        self._agents = agents or Agents()

    def perform(self, hold: Hold) -> Fact:
        """Have the delivery of a pass reviewed, and store what the reviewer says.

        Raises Rejected if nobody gives an answer that can be used: then a person reviews. Raises
        Transient while the host cannot be reached, and Misconfigured for a repository without
        anybody who could review.
        """
        review = self._read(hold)
        with self._database.begin() as connection:
            known = reviews.find(connection, review.delivery.id)
        return self._fact(hold, review, known or self._ask(hold, review))

    def _read(self, hold: Hold) -> _Review:
        job = hold.job
        with self._database.begin() as connection:
            brief = step_brief(connection, job)
            if brief.repository is None:
                raise Defect(f"{brief.ref} delivers nothing: it has no repository", stage="review")
            place = (brief.run_id, brief.step.ordinal, job.revision, job.pass_no)
            delivery = reviews.delivery_of(connection, *place)
            run_id, step, revision, pass_no = place
            keys = tuple(
                attempt_key(run_id, step, revision, LOOKS, pass_no, job.id * 10 + n)
                for n in range(MOST_TRIES)
            )
            used = looks.numbers_used(connection, run_id, step, keys)
        masker = self._secrecy.secrets_for().masker
        return _Review(brief, brief.repository, delivery, keys, used + 1, masker)

    def _ask(self, hold: Hold, review: _Review) -> StoredReview:
        agents, brief = self._agents, review.brief
        log = HeldLog(self._journal, hold, review.masker)
        record = self._record(hold, review, log)
        with closing(self._connections.shell(brief.host)) as host_shell:
            own = replace(review.repository, setup=None, copied=())
            workspaces = Workspaces(
                host_shell,
                own,
                root=agents.workspaces,
                limits=agents.limits,
                cancelled=hold.is_over,
            )
            chosen = self._reviewers(host_shell, review)
            workspace = _prepare(workspaces, review)
            host = replace(brief.host, workdir=workspace.path)
            with closing(self._connections.shell(host, record, review.masker)) as shell:
                runs = AgentRuns(
                    shell,
                    StepBench(workspaces, workspace, (), lambda: None),
                    agents.runner_of,
                    log,
                    agents.access_of,
                    partial(look_at_processes, host_shell, record.name),
                    agents.notes_of,
                    agents.calls_of,
                    pass_name=record.name,
                    snapshot_every=agents.snapshot_every,
                    masker=review.masker,
                    spending=agents.spending,
                    containing=HostContainment(shell, agents.confinement_of(host.name), own.name),
                )
                fresh = partial(workspaces.restore, workspace, review.delivery.tree)
                asking = _Asking(hold, review, log, runs, self._text(workspaces, review), fresh)
                given = asking.ask(chosen)
            hold.afterwards.append(shell.settle)
        with self._database.begin() as connection:
            require_held(connection, hold.job.claim, stage="review")
            reviews.save(connection, given)
        return given

    def _reviewers(self, shell: Shell, review: _Review) -> tuple[str, ...]:
        """Those that the host has, as many as are asked; one that is alone is asked again."""
        place = review.repository
        usual = [name for name in place.startable if name in REVIEWERS]
        named = reviewers_named(place.reviewers, usual, review.delivery.authors)
        programs = {name: self._agents.runner_of(name, None).program for name in named}
        asked = "\n".join(f"command -v {p} >/dev/null && echo {p}" for p in programs.values())
        found = shell.run(Call(f"{asked}\n:", _LOOK_SECONDS)).stdout.decode().split()
        there = [name for name in named if programs[name] in found]
        if not there:
            raise Misconfigured(
                f"no runner can review in repository {place.name!r}: {place.host} has none of "
                f"{', '.join(named) or 'those that give an answer in a required form'}",
                stage="review",
                next_step=NextStep.of("repo check", place.name),
            )
        return tuple((there * MOST_TRIES)[:MOST_TRIES])

    def _text(self, workspaces: Workspaces, review: _Review) -> str:
        """What its reviewers are asked."""
        brief, delivery = review.brief, review.delivery
        with self._database.begin() as connection:
            rejections = rejected_deliveries.of_step(connection, brief.run_id, brief.step.ordinal)
        keys = {step.ordinal: step.key for step in brief.plan.steps}
        task = dev_task(
            brief.step,
            brief.subtasks,
            rejections=rejections,
            max_attempts=brief.task.policy.max_delivery_attempts,
            depends_on=[keys[n] for n in brief.step.depends_on if n in keys],
            status="review",
        )
        patch = workspaces.patch(delivery.base, delivery.tree, limit=MOST_PATCH)
        told = review.masker.text(patch.text.decode(errors="replace"))
        return review_text(
            ReviewOrder(
                task, told, delivery.base, patch.cut, delivery.checks, delivery.deliverables
            )
        )

    def _fact(self, hold: Hold, review: _Review, given: StoredReview) -> DeliveryReviewed:
        job, said = hold.job, given.result
        return DeliveryReviewed(
            step=review.brief.step.ordinal,
            revision=job.revision,
            pass_no=job.pass_no,
            delivery=review.delivery.sha256,
            approved=said.approved,
            reviewer=given.reviewer,
            reason=said.summary,
        )

    def _record(self, hold: Hold, review: _Review, log: HeldLog) -> PassRecord:
        job, brief = hold.job, review.brief
        place = f"{brief.token}-{brief.step.ordinal}-{job.revision}-{_REVIEWS + job.pass_no}"
        return PassRecord(
            name=f"{brief.token[:2]}/{place}",
            fence=job.id * FENCES_A_JOB + job.fence,
            resumed=job.resumed,
            since=job.age,
            valid_for=lambda: hold.valid_until - monotonic(),
            given_up=log.given_up,
            claim=job.token,
            claims=lambda: self._claims(brief),
        )

    def _claims(self, brief: StepBrief) -> KnownClaims:
        with self._database.autocommit() as connection:
            return KnownClaims(
                claims.known(connection, brief.run_id, brief.step.ordinal),
                claims.settled(connection, brief.run_id, brief.step.ordinal),
            )


@dataclass(frozen=True, slots=True)
class _Asking:
    """Asks reviewers one after another, in one workspace, which `fresh` brings back to its tree."""

    hold: Hold
    review: _Review
    log: HeldLog
    runs: AgentRuns
    text: str
    fresh: Callable[[], object]

    def ask(self, reviewers: Sequence[str]) -> StoredReview:
        """The first review that can be used; raises Rejected if there is none."""
        told: list[str] = []
        for n, name in enumerate(reviewers):
            try:
                return self._ask(n, name)
            except Rejected as error:
                told.append(f"{name}: {error.reason}")
            except ForgottenError as error:
                raise Rejected(
                    f"the host has records of a review that nobody here knows: {error}",
                    stage="review",
                ) from error
        raise Rejected(
            f"nobody could review it; {'; '.join(told)}",
            stage="review",
            next_step=NextStep.of("step show", self.review.brief.ref),
        )

    def _ask(self, n: int, name: str) -> StoredReview:
        review, key = self.review, self.review.keys[n]
        attempt = self._attempt(n)
        if self.runs.shell.recall(key) is None:
            self.fresh()
        self.log.started(attempt)
        result = self.runs.run(key, _task(name, attempt.command, self.text, review))
        ended = replace(
            attempt, result=result, started_at=result.started_at, ended_at=result.ended_at
        )
        if self.hold.is_over() or result.cancelled:
            told = "the review was given up"
            self.log.finished(replace(ended, outcome=Outcome.CANCELLED, reason=told))
            raise Transient(told, stage="review")
        try:
            said = read_review(result.structured)
        except Rejected as error:
            outcome, why = agent_outcome(result, None)
            outcome = Outcome.FAILED if outcome is Outcome.OK else outcome
            reason = "; ".join(filter(None, (why, error.reason)))
            self.log.finished(replace(ended, outcome=outcome, reason=reason))
            raise Rejected(reason, stage="review") from error
        verdict = "approved" if said.approved else "not approved"
        reason = f"{verdict}: {said.summary}" if said.summary else verdict
        self.log.finished(replace(ended, outcome=Outcome.OK, reason=reason))
        masked = ReviewResult.model_validate(mask_json(said.model_dump(), review.masker))
        return StoredReview(review.delivery.id, result.runner or name, key, masked)

    def _attempt(self, n: int) -> Attempt:
        """The attempt of reviewer `n`, which only looks; whoever asks again makes the same key."""
        review, job, now = self.review, self.hold.job, SystemClock().now()
        return Attempt(
            key=review.keys[n],
            run_id=review.brief.run_id,
            step=review.brief.step.ordinal,
            revision=job.revision,
            subtask=LOOKS,
            pass_no=job.pass_no,
            try_no=n,
            number=review.number + n,
            command=f"Review delivery {review.delivery.sha256[:12]} of {review.brief.ref}",
            outcome=Outcome.OK,
            started_at=now,
            ended_at=now,
            look=True,
        )


def _prepare(workspaces: Workspaces, review: _Review) -> Workspace:
    """A workspace for this delivery alone, with the files of the judged tree."""
    token = review.brief.token
    name = f"{token}-{review.brief.step.ordinal}-review-{review.delivery.sha256[:12]}"
    return workspaces.prepare(workspaces.base(token).sha, name, tree=review.delivery.tree)


def _task(name: str, goal: str, text: str, review: _Review) -> AgentTask:
    policy = review.brief.task.policy
    return AgentTask(
        this=Try(goal),
        assignment=Assignment(text),
        runner=name,
        name=name,
        timeout=REVIEW_SECONDS,
        mode=ExecutionMode.AUTONOMOUS,
        time_budget=REVIEW_SECONDS,
        cost_budget=policy.agent_cost_budget,
        compliance=Compliance(check=False),
        key=str(review.brief.ref),
        allowed_tools=READING if name in HOLDS_TOOLS else None,
        watchdog=Watchdog(strategy=StuckStrategy.KILL_AND_RETRY),
        form=FORM,
    )
