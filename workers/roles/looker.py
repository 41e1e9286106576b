"""Looking jobs: what a planner wants to see on hosts, each look as an attempt that changes nothing.

A look is run if the policy of its host allows it and the guard knows it as a look. All looks of a
round run side by side, so a round costs a host one round trip. They may run again: whoever takes a
round over from a lost worker takes all of it, and writes the same attempts.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shared.domain.attempt import Attempt, CommandResult
from shared.domain.config import Policy
from shared.domain.containment import ContainmentRule
from shared.domain.errors import Misconfigured, Rejected, ReplanError, Transient
from shared.domain.facts import Fact, LooksTaken
from shared.domain.host import Host
from shared.domain.look import MOST_LOOKS
from shared.domain.outcome import Outcome
from shared.domain.secret import BadName, secret_names
from shared.domain.verdict import Verdict, VerdictKind
from shared.guard import hidden_variable
from shared.secrets.masking import Masker
from shared.store import hosts, looks, targets
from shared.store.database import Database
from workers.passes.outcomes import describe_end, outcome_of
from workers.process.journal import Journal
from workers.process.leases import Hold
from workers.roles.guards import Guards
from workers.roles.host_keys import reports_changed_keys
from workers.roles.looks import AskedLook, asked_looks
from workers.roles.offers import is_repository
from workers.roles.pass_means import require_containment
from workers.secrets import Secrecy, mask_attempt
from workers.shells.door import Containing, Door, Judge, PassJudge
from workers.shells.ports import Call, Connections, Shell
from workers.store import task_brief

LOOK_SECONDS = 10.0
"""How long a look may take: a planner waits for it, and what takes longer is no mere look."""

LOOK_BYTES = 16_000
"""Bytes that are kept of each stream of a look: a planner reads no more of it."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """What came of a look; `result` is None if it was not run."""

    outcome: Outcome
    reason: str
    rule: str | None = None
    result: CommandResult | None = None


@dataclass(frozen=True, slots=True)
class _Round:
    """A round to take: its looks, and the runs of the targets that may be looked at."""

    kind: LooksTaken
    task_id: int
    policy: Policy
    here: str
    runs: dict[str, int]
    asked: tuple[AskedLook, ...]


class Looker:
    """Takes looks, over the connections that the executor keeps open."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        connections: Connections,
        guards: Guards,
        secrecy: Secrecy,
    ) -> None:
        self._database = database
        self._journal = journal
        self._connections = connections
        self._guards = guards
        self._secrecy = secrecy

    def perform(self, hold: Hold) -> Fact:
        """Take the newest round of looks. A host that cannot be reached is told, not raised."""
        wanted = self._read(hold)
        masker = self._secrecy.secrets_for().masker
        by_host: dict[str, list[AskedLook]] = {}
        for each in wanted.asked:
            by_host.setdefault(each.host, []).append(each)
        with ThreadPoolExecutor(max_workers=max(1, len(by_host))) as pool:
            places = [
                pool.submit(self._take_all, hold, wanted, name, asked, masker)
                for name, asked in by_host.items()
            ]
            taken = {key: each for place in places for key, each in place.result().items()}
        if hold.given_up.is_set() or hold.lost.is_set():
            raise Transient("the looks were given up", stage="look")
        self._write(hold, wanted, taken, masker)
        return wanted.kind

    def _read(self, hold: Hold) -> _Round:
        job = hold.job
        with self._database.begin() as connection:
            rounds = looks.rounds_of(connection, job)
            task = task_brief(connection, job.task_id)
            runs = looks.runs_by_target(connection, job.task_id)
        names = {run_id: name for name, run_id in runs.items()}
        here = task.targets[0] if job.run_id is None else names[job.run_id]
        asked = (each for each in asked_looks(rounds, here) if each.round_no == job.looks)
        newest = rounds[-1]
        return _Round(
            kind=LooksTaken(newest.kind, job.step, job.revision, job.pass_no, newest.round_no),
            task_id=job.task_id,
            policy=task.policy,
            here=here,
            runs=runs if job.run_id is None else {here: runs[here]},
            asked=tuple(each for each in asked if each.seen_in is None),
        )

    def _take_all(
        self, hold: Hold, wanted: _Round, name: str, asked: Sequence[AskedLook], masker: Masker
    ) -> dict[str, _Taken]:
        """Take the looks at one host."""
        if name not in wanted.runs and not is_repository(self._database, name):
            allowed = ", ".join(wanted.runs)
            return _all(asked, f"{name} is not a target that may be looked at here: {allowed}")
        guard = self._guards(wanted.policy.forbidden_commands, self._host_name(name))
        judge = _LookJudge(PassJudge(guard, masker), self._guards.planner_looks())
        taken = {each.key: _refused(each.command, judge) for each in asked}
        allowed_looks = [each for each in asked if taken[each.key] is None]
        done = {key: each for key, each in taken.items() if each is not None}
        if not allowed_looks:
            return done
        try:
            with reports_changed_keys(self._database, wanted.task_id):
                shell = self._connections.shell(self._host(name), masker=masker)
        except ReplanError as error:
            return done | _all(allowed_looks, error.reason)
        with closing(shell):
            containing = self._guards.containing(guard)
            if containing is not None and guard.policy.containment is ContainmentRule.REQUIRED:
                try:
                    require_containment(name, shell, containing)
                except Misconfigured as error:
                    return done | _all(allowed_looks, error.reason)
            return done | _run(shell, judge, hold, allowed_looks, containing)

    def _host_name(self, name: str) -> str:
        """The host whose policy holds there."""
        with self._database.begin() as connection:
            host = targets.host_of(connection, name)
        return name if host is None else host.name

    def _host(self, name: str) -> Host:
        """The host of that name, or that of the repository, in whose folder looks then start."""
        with self._database.begin() as connection:
            place = targets.find(connection, name)
            if place is None:
                raise Rejected(f"host {name!r} is not enrolled", stage="look")
            hosts.require_trusted(place.host)
            host = hosts.with_route(connection, place.host)
        if place.repository is None or place.repository.path is None:
            return host
        return replace(host, workdir=place.repository.path)

    def _write(self, hold: Hold, wanted: _Round, taken: dict[str, _Taken], masker: Masker) -> None:
        step = hold.job.step or 0
        keys = {each.key for each in wanted.asked}
        with self._database.begin() as connection:
            numbers = {
                name: looks.numbers_used(connection, run_id, step, keys)
                for name, run_id in wanted.runs.items()
            }
        for each in wanted.asked:
            # A look at a host that is not a target is told of where its planner is at work.
            name = each.host if each.host in wanted.runs else wanted.here
            numbers[name] += 1
            attempt = _attempt(hold, each, taken[each.key], wanted.runs[name], numbers[name])
            self._journal.end_attempt(hold.job, mask_attempt(attempt, masker))


class _LookJudge:
    """Allows what both the policy of the host and the guard's table of looks allow."""

    def __init__(self, policy: Judge, table: Judge) -> None:
        self._policy = policy
        self._table = table

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The verdict of the policy, unless it is to allow what is not a look."""
        verdict = self._policy.judge(command, interpreter)
        return self._table.judge(command, interpreter) if verdict.allowed else verdict


def _refused(command: str, judge: Judge) -> _Taken | None:
    """Why a look is not run; None if it may run."""
    try:
        names = secret_names(command)
        Call(command, LOOK_SECONDS).require_valid()
    except (BadName, Rejected) as error:
        return _not_run(getattr(error, "reason", str(error)))
    if names:
        return _not_run("a look gets no secret")
    if (hidden := hidden_variable(command)) is not None:
        return _not_run(f"the variable {hidden} may hold a secret")
    verdict = judge.judge(command)
    if verdict.kind is VerdictKind.ALLOW:
        return None
    return _not_run(verdict.reason, verdict.rule)


def _not_run(why: str, rule: str | None = None) -> _Taken:
    return _Taken(Outcome.DENIED, f"not looked: {why}", rule or None)


def _all(asked: Iterable[AskedLook], why: str) -> dict[str, _Taken]:
    """The same for each of these looks: there is no way to look."""
    return {each.key: _Taken(Outcome.BLOCKED, f"not looked: {why}") for each in asked}


def _run(
    shell: Shell,
    judge: Judge,
    hold: Hold,
    asked: Sequence[AskedLook],
    containing: Containing | None,
) -> dict[str, _Taken]:
    door = Door(shell, judge, withdrawn=hold.is_over, containing=containing)

    def look(each: AskedLook) -> _Taken:
        try:
            result = door.look(Call(each.command, LOOK_SECONDS))
        except ReplanError as error:
            return _Taken(Outcome.BLOCKED, f"not looked: {error.reason}")
        outcome, told = outcome_of(result, None)
        if outcome in {Outcome.UNKNOWN, Outcome.CANCELLED}:
            return _Taken(Outcome.BLOCKED, f"not looked: {told}")
        told = each.why if result.ok else "; ".join(filter(None, (describe_end(result), each.why)))
        return _Taken(outcome, told, result=_bounded(result))

    with ThreadPoolExecutor(max_workers=MOST_LOOKS) as pool:
        taken = pool.map(look, asked)
        return {each.key: found for each, found in zip(asked, taken, strict=True)}


def _bounded(result: CommandResult) -> CommandResult:
    stdout, lost_out = _cut(result.stdout)
    stderr, lost_err = _cut(result.stderr)
    return replace(
        result,
        stdout=stdout,
        stderr=stderr,
        stdout_dropped=result.stdout_dropped + lost_out,
        stderr_dropped=result.stderr_dropped + lost_err,
    )


def _cut(stream: bytes) -> tuple[bytes, int]:
    """Both ends of a stream, and the number of bytes that are left out."""
    lost = len(stream) - LOOK_BYTES
    if lost <= 0:
        return stream, 0
    half = LOOK_BYTES // 2
    return stream[:half] + b"\n[... %d bytes left out ...]\n" % lost + stream[-half:], lost


def _attempt(hold: Hold, asked: AskedLook, taken: _Taken, run_id: int, number: int) -> Attempt:
    now = datetime.now(UTC)
    result = taken.result
    return Attempt(
        key=asked.key,
        run_id=run_id,
        step=hold.job.step or 0,
        revision=hold.job.revision,
        subtask=0,
        pass_no=hold.job.pass_no,
        try_no=0,
        number=number,
        command=asked.command,
        outcome=taken.outcome,
        started_at=now if result is None else result.started_at,
        ended_at=now if result is None else result.ended_at,
        reason=taken.reason,
        rule=taken.rule,
        result=result,
        look=True,
    )
