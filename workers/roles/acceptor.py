"""Accepting jobs: a delivery is merged with its line, examined, and checked on that tree."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count, product, starmap
from sys import maxsize
from typing import Any

from shared.deliveries.attestation import AttestationKeys, CheckedTree, Checks
from shared.deliveries.store import PatchStore
from shared.domain.attempt import Attempt, CommandResult
from shared.domain.delivery import Judgement, Rejection
from shared.domain.delivery_facts import DeliveryJudged
from shared.domain.errors import ReplanError
from shared.domain.outcome import Outcome
from shared.secrets.masking import Masker
from shared.store import deliveries, jobs, looks
from shared.store.database import Database
from shared.store.deliveries import CheckRun
from workers.acceptances import AcceptanceBrief, JudgementPlace, acceptance_brief
from workers.agents.workspaces.workspaces import Workspaces
from workers.deliveries.line import Line
from workers.deliveries.merging import Merge, merge_behind
from workers.deliveries.tree_checks import MOST_ROUNDS, CheckResult, require_allowed, run_checks
from workers.process.journal import Journal
from workers.process.leases import Hold
from workers.roles.guards import Guards
from workers.roles.left_checks import LeftChecks, drop_judged, judgement_record
from workers.roles.pass_means import Agents, require_setup_allowed
from workers.secrets import KnownSecrets, Secrecy, mask_attempt
from workers.shells.door import Door, PassJudge
from workers.shells.ports import Connections, Shell
from workers.store import PassBrief, pass_brief

STAGE = "accept"

_ROUNDS = range(1, MOST_ROUNDS + 1)


@dataclass(frozen=True, slots=True)
class _Checked:
    """What the checks of a tree say; `same_as` is the judgement in which it passed them before.

    `settle` tells the host that all of it is on record.
    """

    results: tuple[CheckResult, ...] = ()
    same_as: int | None = None
    envelope: Mapping[str, Any] | None = None
    settle: Callable[[], None] | None = None

    @property
    def red(self) -> CheckResult | None:
        """The check that failed, if one did."""
        return next((each for each in self.results if not each.ok), None)


class Acceptor:
    """Judges deliveries, over the connections that the executor keeps open."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        connections: Connections,
        guards: Guards,
        secrecy: Secrecy,
        *,
        agents: Agents,
        store: Callable[[], PatchStore],
        keys: AttestationKeys,
    ) -> None:
        self._database = database
        self._journal = journal
        self._connections = connections
        self._guards = guards
        self._secrecy = secrecy
        self._agents = agents
        self._store = store
        self._keys = keys
        self._left = LeftChecks(database, journal, connections)

    def perform(self, hold: Hold) -> DeliveryJudged:
        """Judge the delivery of a step behind the line in which it stands.

        Whoever does it again makes the same commits. Raises Transient if it is judged elsewhere by
        now or the host cannot be reached, Rejected if its bundle is not what was published, and
        Misconfigured if a check of the repository may not run.
        """
        with self._database.autocommit() as connection:
            brief = acceptance_brief(connection, hold.job)
            known = deliveries.judgement_of(connection, brief.own.id, brief.acceptance.turn)
        try:
            judgement = known or self._judgement(hold, brief)
        except ReplanError:
            if hold.withdrawn.is_set():  # nobody goes on with what it has made
                hold.afterwards.append(partial(self._drop, brief.place, brief.judgement))
                with suppress(ReplanError):
                    for left in hold.afterwards:
                        left()
            raise
        hold.afterwards.append(partial(self._drop, brief.place, brief.judgement))
        return DeliveryJudged(
            brief.step,
            brief.job.revision,
            brief.job.pass_no,
            brief.own.sha256,
            brief.acceptance.turn,
            judgement,
        )

    def end_left(self, hold: Hold) -> None:
        """End the checks that run for a delivery of a step that nobody awaits. Raises Transient.

        Their workspaces go too, as far as their host can be reached.
        """
        job = hold.job
        assert job.run_id is not None and job.step is not None  # noqa: S101, PT018 - of a step
        last = JudgementPlace(job.run_id, job.step, job.revision, job.pass_no, maxsize)
        with self._database.autocommit() as connection:
            place = pass_brief(connection, job)
            delivered = deliveries.of_pass(
                connection, last.run_id, last.step, last.revision, last.pass_no
            )
        self._left.end(hold, place, self._secrecy.secrets_for(()).masker)
        if delivered is not None:
            with suppress(ReplanError):
                self._drop(place, last)

    def _judgement(self, hold: Hold, brief: AcceptanceBrief) -> Judgement:
        secrets = self._secrecy.secrets_for(brief.checks)
        self._left.end(hold, brief.place, secrets.masker, but=_keys(brief))
        with closing(self._connections.shell(brief.place.host)) as shell:
            merge, checked = self._judge(hold, brief, shell, secrets)
        judgement = _judgement(merge, checked)
        self._keep(brief, merge, checked, judgement)
        if checked.settle is not None:
            hold.afterwards.append(checked.settle)
        return judgement

    def _judge(
        self, hold: Hold, brief: AcceptanceBrief, shell: Shell, secrets: KnownSecrets
    ) -> tuple[Merge, _Checked]:
        root, repository, token = self._agents.workspaces, brief.repository, brief.place.token
        limits = self._agents.limits
        spaces = Workspaces(shell, repository, root=root, limits=limits, cancelled=hold.is_over)
        began = spaces.base(token).sha
        line = brief.acceptance.line
        merge = merge_behind(
            Line(shell, repository, root=root, cancelled=hold.is_over),
            (line and line.head) or began,
            brief.line,
            brief.titles,
            store=self._store(),
            repository=repository,
            masker=secrets.masker,
            session=token,
            step_checks=brief.of_step,
        )
        if merge.rejection is not None or merge.commit is None or merge.tree is None:
            return merge, _Checked()
        checks = self._checks(brief)
        with self._database.autocommit() as connection:
            known = deliveries.passed_run(connection, repository.name, merge.tree, checks.digest)
        if known is not None:
            return merge, _Checked(same_as=known)
        policy = brief.place.policy
        guard = self._guards(policy.forbidden_commands, brief.place.host.name)
        require_setup_allowed(repository, guard)
        workspace = spaces.prepare(merge.commit, brief.judgement.workspace(token))
        fresh = partial(spaces.restore, workspace, merge.tree)
        return merge, self._check(hold, brief, merge, workspace.path, fresh=fresh, secrets=secrets)

    def _drop(self, place: PassBrief, last: JudgementPlace) -> None:
        if place.repository is not None:
            with closing(self._connections.shell(place.host)) as shell:
                spaces = Workspaces(shell, place.repository, root=self._agents.workspaces)
                drop_judged(spaces, place.token, last)

    def _check(
        self,
        hold: Hold,
        brief: AcceptanceBrief,
        merge: Merge,
        path: str,
        *,
        fresh: Callable[[], object],
        secrets: KnownSecrets,
    ) -> _Checked:
        """Run the checks in a workspace, and sign what they say.

        `fresh` makes its files those of the merged tree. What is signed is that the checks were
        green in a round that began with exactly this tree: one may change files for the next.
        """
        started, checks = datetime.now(UTC), self._checks(brief)
        policy = brief.place.policy
        host = replace(brief.place.host, workdir=path)
        guard = PassJudge(self._guards(policy.forbidden_commands, host.name), secrets.masker)
        place, token = brief.judgement, brief.place.token
        record = judgement_record(self._database, hold, place, token, brief.job.age)
        shell = self._connections.shell(host, record, secrets.masker)
        door = Door(shell, guard, withdrawn=hold.withdrawn.is_set, variables=secrets.variables)
        try:
            require_allowed(door, brief.of_repository, brief.repository.name)
            for (number, command), round_no in product(enumerate(checks.commands, 1), _ROUNDS):
                door.permit(command, brief.key(number, round_no))  # its step was allowed to run it
            results = run_checks(
                door,
                checks.commands,
                key=brief.key,
                log=self._log(hold, brief, merge, secrets.masker),
                timeout=policy.subtask_timeout,
                fresh=fresh,
                is_over=hold.is_over,
            )
        finally:
            shell.close()
            if door.gave_secrets:
                hold.afterwards.append(shell.erase)
        found = _Checked(results, settle=shell.settle)
        if found.red is not None or merge.commit is None or merge.tree is None:
            return found
        tree = CheckedTree(
            merge.tree,
            merge.commit,
            brief.own.sha256,
            str(brief.session),
            checks,
            started,
            datetime.now(UTC),
        )
        envelope = self._keys.sign(tree)
        self._store().attest(tree.tree, envelope)
        return replace(found, envelope=envelope)

    def _log(self, hold: Hold, brief: AcceptanceBrief, merge: Merge, masker: Masker) -> "_CheckLog":
        with self._database.begin() as connection:
            numbers = looks.numbers_at(connection, _keys(brief))
            used = looks.numbers_used(connection, brief.run_id, brief.step, ())
        note = f"a check of tree {(merge.tree or '')[:12]}"
        return _CheckLog(self._journal, hold, brief, masker, numbers, count(used + 1), note)

    def _checks(self, brief: AcceptanceBrief) -> Checks:
        repository = brief.repository
        return Checks(repository.name, brief.place.host.name, brief.checks, repository.setup)

    def _keep(
        self, brief: AcceptanceBrief, merge: Merge, checked: _Checked, judgement: Judgement
    ) -> None:
        ok = judgement.rejection is None
        run = CheckRun(
            delivery_id=brief.own.id,
            turn=brief.acceptance.turn,
            status="passed" if ok else (judgement.rejection or Rejection.CHECK).value,
            onto=merge.onto,
            commit=merge.commit,
            tree=merge.tree,
            repository=brief.repository.name,
            checks=self._checks(brief).digest,
            ok=ok,
            report={
                "checks": [each.as_json for each in checked.results],
                "conflicts": list(merge.conflicts),
                "reason": judgement.reason,
            },
            same_as=checked.same_as,
            envelope=checked.envelope,
        )
        with self._database.begin() as connection:
            jobs.require_held(connection, brief.job.claim, STAGE)
            deliveries.keep_check_run(connection, run)


@dataclass(frozen=True, slots=True)
class _CheckLog:
    """Writes the checks of a judgement down as attempts: looks, which count no error."""

    _journal: Journal
    _hold: Hold
    _brief: AcceptanceBrief
    _masker: Masker
    _numbers: dict[str, int]
    _free: Iterator[int]
    _note: str

    def begin(self, key: str, command: str) -> None:
        """A check begins."""
        draft = self._draft(key, command)
        masked = mask_attempt(draft, self._masker)
        self._journal.begin_attempt(self._hold.job, masked, at_once=True)

    def end(self, key: str, result: CommandResult, outcome: Outcome, reason: str) -> str:
        """A check ended; returns the key of its attempt."""
        ended = replace(
            self._draft(key, result.command),
            outcome=outcome,
            started_at=result.started_at,
            ended_at=result.ended_at,
            reason="; ".join(filter(None, (reason, self._note))),
            result=result,
        )
        self._journal.end_attempt(self._hold.job, mask_attempt(ended, self._masker))
        return ended.key

    def _draft(self, key: str, command: str) -> Attempt:
        now, job = datetime.now(UTC), self._hold.job
        if key not in self._numbers:
            self._numbers[key] = next(self._free)
        return Attempt(
            key=key,
            run_id=self._brief.run_id,
            step=self._brief.step,
            revision=job.revision,
            subtask=0,
            pass_no=job.pass_no,
            try_no=0,
            number=self._numbers[key],
            command=command,
            outcome=Outcome.FAILED,
            started_at=now,
            ended_at=now,
            look=True,
        )


def _keys(brief: AcceptanceBrief) -> tuple[str, ...]:
    """The identities of its checks in all rounds."""
    numbers = range(1, len(brief.checks) + 1)
    return tuple(starmap(brief.key, product(numbers, _ROUNDS)))


def _judgement(merge: Merge, checked: _Checked) -> Judgement:
    if merge.rejection is not None:
        return Judgement(merge.commit, merge.tree, merge.rejection, merge.reason)
    if (red := checked.red) is not None:
        reason = f"`{red.command}` is red on the merged tree: {red.told}"
        return Judgement(merge.commit, merge.tree, Rejection.CHECK, reason)
    return Judgement(merge.commit, merge.tree)
