"""The error handler: gathers the evidence of a step into the bundle (S0.22, S0.48–S0.52)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace

import structlog

from shared.domain.attempt import AgentResult, Attempt, CommandResult, describe_left
from shared.domain.bundle import Bundle, LoggedAgent, LoggedAttempt, LoggedSubtask, Progress
from shared.domain.cause import Cause
from shared.domain.config import Policy
from shared.domain.errors import ReplanError
from shared.domain.facts import BundleReady, Fact
from shared.domain.host import ConnectionKind, Host
from shared.domain.ids import Ref
from shared.domain.outcome import GREEN
from shared.domain.plan import Revision, Subtask
from shared.domain.target import Repository
from shared.store import bundles, jobs
from shared.store.database import Database
from workers.evidence.causes import Failure, failures
from workers.evidence.failed_assumptions import failed_assumptions
from workers.evidence.hypotheses import hypotheses
from workers.evidence.observation import Observation
from workers.fixes.failed_fix import fix_behind, left_changed
from workers.fixes.recall import failure_to_learn_from
from workers.llm.evidence import evidence
from workers.process.leases import Hold
from workers.roles.host_keys import reports_changed_keys
from workers.sessions import delivering_session, rejections_of
from workers.shells.corrections.table import TESTED
from workers.store import StepBrief, is_at_work, step_brief

log = structlog.get_logger()

LOOK_EVERY = 0.1
PATIENCE = 15.0
"""Seconds to wait for a command that is being ended; then the evidence is gathered without it."""

MOST_OF_EARLIER = 4
"""How many of the last results of an earlier revision the bundle tells."""

Observe = Callable[[Host, Policy, Sequence[Subtask], Sequence[Failure]], Observation]
"""Looks at a host on which these subtasks ran, and at what these failures name there.

Raises what a connection raises.
"""


HostOf = Callable[[StepBrief, int], Host]
"""The host of a step, as its commands see it, after that many deliveries of it were rejected.

Raises what a connection raises."""


class EscalationHandler:
    """Answers gathering jobs."""

    def __init__(
        self,
        database: Database,
        observe: Observe,
        mask: Callable[[str], str] = str,
        host_of: HostOf = lambda brief, _: brief.host,
    ) -> None:
        self._database = database
        self._observe = observe
        self._mask = mask
        self._host_of = host_of

    def perform(self, hold: Hold) -> Fact:
        """Build and store the bundle of a step. If the host is unreachable, the bundle says so.

        If a pass was withdrawn for this, its worker first reports how its command ended.
        """
        job = hold.job
        self._await_release(hold)
        with self._database.begin() as connection:
            brief = step_brief(connection, job)
            session = delivering_session(connection, job, brief)
            came_back = () if session is None else rejections_of(connection, session)
        seen = self._look_at(brief, 0 if session is None else len(session.rejected))
        bundle = self._with_leftovers(brief, compose(brief, seen.snapshot, seen.causes))
        bundle = replace(bundle, rejections=tuple(map(str, came_back)))
        with self._database.begin() as connection:
            jobs.require_held(connection, job.claim, stage="gather")
            bundle_id = bundles.save(
                connection,
                brief.run_id,
                brief.step.ordinal,
                revision=job.revision,
                pass_no=job.pass_no,
                bundle=bundle,
                evidence=self._mask(evidence(bundle)),
                failure=failure_to_learn_from(brief, bundle),
            )
        return BundleReady(brief.step.ordinal, job.revision, job.pass_no, bundle_id)

    def _with_leftovers(self, brief: StepBrief, bundle: Bundle) -> Bundle:
        """The bundle with what a remembered fix that failed has done to the host."""
        number = fix_behind(self._database, brief)
        if number is None:
            return bundle
        left = left_changed(brief, number)
        return replace(bundle, hypotheses=(*bundle.hypotheses, *left))

    def _await_release(self, hold: Hold) -> None:
        for _ in range(round(PATIENCE / LOOK_EVERY)):
            with self._database.autocommit() as connection:
                if not is_at_work(connection, hold.job):
                    return
            if hold.withdrawn.wait(LOOK_EVERY):
                return

    def _look_at(self, brief: StepBrief, rejected: int) -> Observation:
        newest, policy = brief.revisions[-1], brief.task.policy
        failed = failures(_attempts_of(brief.attempts, newest.revision))
        asked = failed if policy.targeted_evidence else ()
        try:
            with reports_changed_keys(self._database, brief.task.id):
                host = self._host_of(brief, rejected)
                return self._observe(host, policy, newest.subtasks, asked)
        except ReplanError as error:
            log.warning("snapshot_failed", stage=error.stage, reason=error.reason)
            return Observation({"connection": f"no snapshot could be taken: {error.reason}"})


def compose(
    brief: StepBrief, snapshot: Mapping[str, str], causes: tuple[Cause, ...] = ()
) -> Bundle:
    """The bundle, built from the rows of the step, and what was seen on the host."""
    newest = brief.revisions[-1]
    tried = _attempts_of(brief.attempts, newest.revision)
    place = brief.ref
    return Bundle(
        task_ref=f"T{brief.task.id}",
        prompt=brief.task.prompt,
        improved_prompt=brief.task.improved_prompt,
        target=brief.place,
        step_ref=str(place),
        step_title=brief.step.title,
        step_instruction=brief.step.instruction,
        revision=newest.revision,
        reason=brief.reason,
        subtasks=tuple(_subtask_entry(s, tried) for s in newest.subtasks),
        attempts=tuple(_attempt_entry(a, place) for a in tried),
        earlier_revisions=tuple(
            _describe_revision(r, brief.attempts) for r in brief.revisions[:-1]
        ),
        snapshot=dict(snapshot),
        failed_assumptions=failed_assumptions(tried),
        hypotheses=hypotheses(tried, TESTED),
        config=_settings(brief.task.policy),
        host=_way_to(brief.host, brief.repository),
        plan=_plan(brief),
        causes=causes,
    )


def _attempts_of(attempts: Sequence[Attempt], revision: int) -> tuple[Attempt, ...]:
    """The attempts of a revision, with the rollbacks run for it, which carry older revisions."""
    passes = {a.pass_no for a in attempts if a.revision < revision and not a.rollback}
    later = {a.pass_no for a in attempts if a.revision > revision and not a.rollback}
    first, last = max(passes, default=0), min(later, default=None)
    return tuple(a for a in attempts if _is_of(a, revision, first, last))


def _is_of(attempt: Attempt, revision: int, first: int, last: int | None) -> bool:
    if not attempt.rollback:
        return attempt.revision == revision
    return attempt.pass_no > first and (last is None or attempt.pass_no < last)


def _subtask_entry(subtask: Subtask, tried: tuple[Attempt, ...]) -> LoggedSubtask:
    own = [a for a in tried if a.subtask == subtask.ordinal and not a.rollback]
    outcomes = [a.outcome for a in own]
    status = outcomes[-1].value if outcomes else Progress.NOT_REACHED.value
    return LoggedSubtask(
        ordinal=subtask.ordinal,
        key=subtask.key,
        title=subtask.title,
        command=subtask.command,
        check=subtask.check,
        timeout=subtask.timeout,
        preconditions=subtask.preconditions,
        needs=subtask.needs,
        status=Progress.DONE.value if outcomes and outcomes[-1] in GREEN else status,
        critical=subtask.critical,
        rollback=subtask.rollback,
        idempotent=subtask.idempotent,
        kind=subtask.kind.value,
        ran=any(a.result is not None for a in own),
        agent=subtask.agent,
    )


def _attempt_entry(attempt: Attempt, place: Ref) -> LoggedAttempt:
    result, check = attempt.result, attempt.check
    out, err = result.streams if result is not None else (b"", b"")
    ref = Ref(place.task, place.step, attempt.subtask, attempt.number, place.target)
    return LoggedAttempt(
        ref=str(ref),
        subtask=attempt.subtask,
        command=attempt.command,
        outcome=attempt.outcome.value,
        exit_code=result.exit_code if isinstance(result, CommandResult) else None,
        stdout=_text(out),
        stderr=_text(err),
        retry_count=attempt.try_no,
        started_at=attempt.started_at.isoformat(),
        ended_at=attempt.ended_at.isoformat(),
        correction=attempt.correction,
        reason=attempt.explanation,
        check_command=None if check is None else check.command,
        check_exit_code=None if check is None else check.exit_code,
        check_output="" if check is None else _text(check.stdout + check.stderr),
        rollback=attempt.rollback,
        left_running="" if result is None else describe_left(result.left_over, result.ended_by),
        agent=agent_entry(result) if isinstance(result, AgentResult) else None,
    )


def agent_entry(result: AgentResult) -> LoggedAgent:
    """What a bundle says of the work of an agent."""
    question = result.question
    return LoggedAgent(
        runner=result.runner,
        status=result.status.value,
        changed_files=result.changed_files,
        tokens=result.tokens,
        cost=None if result.cost is None else str(result.cost),
        model=result.model,
        seconds=(result.ended_at - result.started_at).total_seconds(),
        time_budget=result.time_budget,
        ended_by=None if result.ended_by is None else result.ended_by.value,
        stuck=result.stuck,
        violations=tuple(f"{each.rule.value}: {each.details}" for each in result.violations),
        question="" if question is None else question.text,
        tree=result.tree,
    )


def _text(output: bytes) -> str:
    return output.decode(errors="backslashreplace")


def _describe_revision(revision: Revision, attempts: Sequence[Attempt]) -> str:
    """An earlier list: its author, its reason, what it undid, its results and its commands."""
    lines = [
        f"revision {revision.revision} by {revision.author.role}: {revision.reason}".rstrip(": ")
    ]
    if revision.rollback:
        lines.append(f"undone before: {', '.join(revision.rollback)}")
    lines += [
        f"check of the first plan dropped: {each.check} ({each.reason})"
        for each in revision.dropped_checks
    ]
    came_of_it = hypotheses(_attempts_of(attempts, revision.revision), TESTED)
    last = (" ".join(sentence.split()) for sentence in came_of_it[-MOST_OF_EARLIER:])
    lines += [f"what came of it: {sentence}" for sentence in last]
    lines += [f"  {_shown(subtask)}" for subtask in revision.subtasks]
    return "\n".join(lines)


def _shown(subtask: Subtask) -> str:
    if subtask.agent is None:
        return subtask.command
    runners = ", then ".join(choice.name for choice in subtask.agent.chain) or "any agent"
    return f"goal for {runners}: {subtask.command}"


def _way_to(host: Host, repository: Repository | None) -> dict[str, str]:
    """S0.52: the machine, the account that runs the commands, its rights, and the repository."""
    if host.connection is ConnectionKind.LOCAL:
        way = {"connection": "local"}
    else:
        way = {"connection": "ssh", "address": f"{host.address}:{host.port}"}
    way["account"] = "root, through sudo" if host.sudo else host.user or "that of the worker"
    if repository is not None:
        return way | _inside(repository)
    if host.workdir:
        way["folder"] = host.workdir
    return way


def _inside(repository: Repository) -> dict[str, str]:
    branch = f", branch {repository.branch}" if repository.branch else ""
    place = {
        "repository": f"{repository.name} ({repository.source}{branch}) on {repository.host}",
        "folder": "the top of a checkout of the step's own",
        "setup": repository.setup or "none",
        "checks": "; ".join(repository.checks) or "none",
    }
    return place | {
        "agents": "any" if repository.runners is None else ", ".join(repository.runners)
    }


def _plan(brief: StepBrief) -> tuple[str, ...]:
    """Every step of the task on this host, with its state."""
    return tuple(
        f"{step.ordinal}. {step.title} [{brief.phases.get(step.ordinal, 'not_started')}]"
        for step in brief.plan.steps
    )


_LIMITS = frozenset(
    {
        *("forbidden_commands", "subtask_timeout", "check_timeout", "error_threshold_per_step"),
        *("max_retries_per_command", "human_escalation_threshold"),
    }
)
"""What a planner has to keep to, whatever it is set to (S0.68)."""


def _settings(policy: Policy) -> dict[str, str]:
    """S0.52, S0.68: the limits of the planner, and every other setting that is not the default."""
    ordinary = Policy()
    return {
        field.name: str(value)
        for field in fields(policy)
        if (value := getattr(policy, field.name)) != getattr(ordinary, field.name)
        or field.name in _LIMITS
    }
