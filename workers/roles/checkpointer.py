"""Checkpoint jobs: what a session has accepted is published, verified, and only then synced.

Integrate, publish, verify, sync (S2.8, S2.16), and a request to merge where a forge is named. The
row in `checkpoints` notes each of them before it begins. Each may be done again: whoever drives a
checkpoint on starts at the first, finds what is done by looking, and comes to the same end.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from shared.domain.checkpoint import CheckpointStage, FoundOnRemote, MergeRequest, Remedy
from shared.domain.delivery import CheckpointEnding
from shared.domain.delivery_facts import CheckpointFinished
from shared.domain.errors import Defect, Rejected, Unavailable
from shared.domain.facts import Fact
from shared.domain.next_step import Advice, NextStep
from shared.domain.workspace_limits import WorkspaceLimits
from shared.settings.server import WORKSPACES
from shared.store.database import Database
from workers.agents.bench import workspace_name
from workers.deliveries import checkpoint_rows as rows
from workers.deliveries.checkpoint_rows import BegunCheckpoint, Session
from workers.deliveries.publishing import Publication, publish
from workers.deliveries.remote import STAGE, NotAttested, Remote, RemoteRefusal
from workers.deliveries.worktree_rows import note_synced
from workers.deliveries.worktrees import Worktrees, main_name
from workers.process.leases import Hold
from workers.roles.host_keys import reports_changed_keys
from workers.shells.ports import Connections, Shell

Attested = Callable[[Any], str]
"""The tree that a signed envelope is about. Raises Rejected if nobody vouches for it."""

Request = Callable[[Session, BegunCheckpoint], MergeRequest | None]
"""Has a request to merge open for the branch of a session; None where no forge is named."""


@dataclass(frozen=True, slots=True)
class CheckpointParts:
    """What checkpoints need besides a database and hosts.

    `workspaces` is the folder for workspaces on a host. `mask` hides secrets in what others say.
    """

    attested: Attested
    request: Request = lambda *_: None
    workspaces: str = WORKSPACES
    limits: WorkspaceLimits = field(default_factory=WorkspaceLimits)
    mask: Callable[[str], str] = str


class Checkpointer:
    """Publishes what sessions have accepted."""

    def __init__(
        self, database: Database, connections: Connections, parts: CheckpointParts
    ) -> None:
        self._database = database
        self._connections = connections
        self._parts = parts

    def perform(self, hold: Hold) -> Fact:
        """Carry out one checkpoint.

        One of a cancelled session is carried to its end if it had begun to publish; otherwise
        nothing is published.

        Raises Unavailable while the remote or the forge is away, Transient if the job is not ours
        any more or what is on the remote changes meanwhile, and Misconfigured for a host or a forge
        that cannot be used as it is.
        """
        with self._database.begin() as connection:
            session = rows.session_of(connection, hold.job)
        with (
            reports_changed_keys(self._database, session.task_id),
            closing(self._connections.shell(session.host)) as shell,
        ):
            return _Drive(self._database, self._parts, hold, session, shell).run()


class _Drive:
    """One driver's way through one checkpoint; `_row` is what the database knows of it."""

    def __init__(
        self,
        database: Database,
        parts: CheckpointParts,
        hold: Hold,
        session: Session,
        shell: Shell,
    ) -> None:
        repository, root, limits = session.repository, parts.workspaces, parts.limits
        self._database = database
        self._parts = parts
        self._job = hold.job
        self._session = session
        self._remote = Remote(shell, repository, session.branch, root=root, cancelled=hold.is_over)
        self._worktrees = Worktrees(
            shell, repository, root=root, largest=limits.largest, cancelled=hold.is_over
        )
        with database.begin() as connection:
            self._row = rows.begin(
                connection, hold.job, session, remote=self._remote.place, ref=self._remote.ref
            )

    def run(self) -> CheckpointFinished:
        """From the first stage to the last; what is done already is only looked at."""
        if self._row.ending is None:
            try:
                self._carry_out()
            except NotAttested as error:
                self._end(CheckpointEnding.UNPROVEN, error.reason, error.next_step)
            except RemoteRefusal as error:
                self._end(CheckpointEnding.REFUSED, error.reason, error.next_step)
        row = self._row
        if row.ending is None:
            raise AssertionError("a checkpoint that was carried out has ended")
        return CheckpointFinished(
            number=row.number,
            accepted=row.accepted,
            head=row.head_remote or row.head,
            ending=row.ending,
            reason=row.report.reason,
        )

    def _carry_out(self) -> None:
        if self._row.cancelled and self._row.stage is CheckpointStage.INTEGRATE:
            told = f"{self._session.ref} was cancelled before anything was published"
            self._end(CheckpointEnding.GIVEN_UP, told)
            return
        tree = self._integrate()
        publication = self._publish()
        if publication.head is None:
            self._end(CheckpointEnding.DIVERGED, self._diverged(publication), self._show)
            return
        self._verify(publication.head, tree)
        self._sync(publication.head)
        self._request()
        self._end(CheckpointEnding.COMPLETE, self._adopted(publication))

    def _integrate(self) -> str:
        """The tree of the head, which exists on the host and has passed its checks."""
        head = self._remote.head(self._row.head)
        if head is None:
            raise NotAttested(
                f"{self._session.repository.host} does not have the commit {self._row.head}, the "
                f"head of {self._session.ref}",
                stage=STAGE,
                next_step=NextStep.of("repo check", self._session.repository.name),
            )
        with self._database.autocommit() as connection:
            found = rows.envelopes(connection, self._session.repository.name, head.tree)
        if not any(self._vouches(envelope, head.tree) for envelope in found):
            raise NotAttested(
                f"nothing attests that the files of {self._row.head[:12]}, the head of "
                f"{self._session.ref}, have passed their checks, so they are not published",
                stage=STAGE,
                next_step=NextStep.of("delivery list", session=self._session.ref),
            )
        self._note(CheckpointStage.PUBLISH, git_dir=head.git_dir)
        return head.tree

    def _vouches(self, envelope: Any, tree: str) -> bool:
        try:
            return self._parts.attested(envelope) == tree
        except Rejected:
            return False

    def _publish(self) -> Publication:
        publication = publish(self._remote, self._row.head)
        pushed = publication.pushed or self._row.report.pushed
        found = self._masked(publication.found)
        self._note(CheckpointStage.VERIFY, found=found, pushed=pushed)
        return publication

    def _masked(self, found: FoundOnRemote) -> FoundOnRemote:
        """Agents and others have written the titles of commits."""
        ours, theirs = (
            tuple(replace(commit, title=self._parts.mask(commit.title)) for commit in commits)
            for commits in (found.ours, found.theirs)
        )
        return replace(found, ours=ours, theirs=theirs)

    def _verify(self, head: str, tree: str) -> None:
        """Sync is forbidden before the remote has confirmed the head, with exactly that tree."""
        seen = self._remote.see(self._row.head)
        if seen is None or seen.commit != head:
            has = "nothing" if seen is None else seen.commit[:12]
            reason = f"{self._remote.place} has {has} where {head[:12]} was published just before"
            raise Unavailable(reason, stage=STAGE)
        if head == self._row.head and seen.tree != tree:
            raise Defect(f"{head} has the tree {seen.tree}, not {tree}", stage=STAGE)
        self._row = replace(self._row, head_remote=head)
        self._note(CheckpointStage.SYNC, tree=seen.tree)

    def _sync(self, head: str) -> None:
        token = self._session.token
        with self._database.autocommit() as connection:
            idle = rows.idle_worktrees(connection, self._session, workspace_name)
        synced = self._worktrees.sync(head, main_name(token), idle)
        self._row = replace(self._row, synced=synced)
        self._note(CheckpointStage.REQUEST)
        session = self._session
        with self._database.begin() as connection:
            note_synced(
                connection,
                session.run_id,
                synced,
                repository=session.repository.name,
                host=session.host.name,
                head=head,
            )

    def _request(self) -> None:
        request = self._parts.request(self._session, self._row)
        if request is not None:
            self._note(CheckpointStage.REQUEST, request=request)

    def _end(
        self, ending: CheckpointEnding, reason: str = "", next_step: Advice | None = None
    ) -> None:
        stage = CheckpointStage.DONE if ending is CheckpointEnding.COMPLETE else self._row.stage
        self._row = replace(self._row, ending=ending)
        self._note(stage, reason=self._parts.mask(reason), next_step=next_step)

    def _note(self, stage: CheckpointStage, **found: Any) -> None:
        report = replace(self._row.report, **found)
        self._row = replace(self._row, stage=stage, report=report)
        with self._database.begin() as connection:
            rows.advance(connection, self._job, self._row)

    def _diverged(self, publication: Publication) -> str:
        found = publication.found
        return (
            f"{self._remote.place} has {_commits(found.behind)} on {self._session.branch} that the "
            f"session does not have, and the session {_commits(found.ahead)} that it does not have"
        )

    def _adopted(self, publication: Publication) -> str:
        if publication.remedy is not Remedy.ADOPT:
            return ""
        found = publication.found
        return (
            f"{self._remote.place} had all of it already, and {_commits(found.behind)} more: the "
            "session continues from there"
        )

    @property
    def _show(self) -> NextStep:
        return NextStep.of("checkpoint show", self._session.ref, self._row.number)


def _commits(count: int) -> str:
    return f"{count} commit" if count == 1 else f"{count} commits"
