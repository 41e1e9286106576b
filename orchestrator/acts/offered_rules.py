"""Rules offered with a request for approval, and given with its approval: for whom they hold."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path

from orchestrator.acts.approvals import GuardFor, guards_of
from orchestrator.acts.caller import Caller, Writing
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.proposals.narrowest import Proposal, ProposedRule, propose
from orchestrator.proposals.obstacles import NoRule, Obstacle
from orchestrator.proposals.policy_file import (
    NotEditableError,
    RuleGroup,
    RuleScope,
    ScopeKind,
    StagedFile,
    fragment,
    staged,
    with_group,
)
from orchestrator.proposals.policy_tests import broken_tests
from orchestrator.views.approvals import Offer
from orchestrator.views.interventions import InterventionView, asked_of
from orchestrator.views.places import runs_at
from orchestrator.views.tasks import task_view
from shared.domain.approval import Approval, ApprovalRequest, ApprovalScope, rule_digest
from shared.domain.config import Policy
from shared.domain.errors import Rejected, ReplanError
from shared.domain.host import Host
from shared.domain.ids import Ref
from shared.domain.next_step import Blank, NextStep
from shared.domain.target import Repository
from shared.domain.verdict import CRITICAL, NOT_PLANNED
from shared.guard import Guard, load_site
from shared.store import targets

_SCOPES = "task|group:NAME|host:NAME|site"
_POLICY_VERB = "host.add"
"""Whoever writes a rule for hosts needs the right to enrol one."""


@dataclass(frozen=True, slots=True)
class GivenRule:
    """Rules that a person gave with an approval: for whom, what they allow, and where they are.

    `file` is the policy file that holds them now, which executors read when they start; None for
    rules of a task, and where the file is not at hand (`why_not`): then `policy` is what it should
    say. For the task that asks, the rules hold at once.
    """

    scope: str
    commands: tuple[str, ...]
    policy: str
    file: Path | None = None
    why_not: str | None = None


def parse_scope(text: str) -> RuleScope:
    """The scope in `task`, `group:web`, `host:db1` or `site`; raises Rejected for others."""
    kind, colon, name = text.partition(":")
    if kind in ("task", "site") and not colon:
        return RuleScope(ScopeKind(kind))
    if kind in ("group", "host") and name.strip():
        return RuleScope(ScopeKind(kind), name)
    raise Rejected(
        f"{text!r} is not a valid scope of a rule; write {_SCOPES.replace('|', ', ')}",
        stage="input",
        next_step=NextStep.of("intervention approve", help=True),
    )


def with_offers(caller: Caller, view: InterventionView) -> InterventionView:
    """The intervention with the rules that would have allowed each text, or why none can."""
    if view.closed_at is not None or view.kind != InterventionKind.APPROVAL or not view.wanted:
        return view
    with caller.database.begin() as connection:
        asked = asked_of(connection, view.name)
        policy = task_view(connection, view.ref).policy
    guard_for = guards_of(caller.settings.server, policy)
    offers = [_offer(each, answer_to(each, guard_for)) for each in asked]
    wanted = tuple(
        replace(text, offer=offer) for text, offer in zip(view.wanted, offers, strict=True)
    )
    steps = view.next_steps
    if all(offer.commands for offer in offers):
        steps = (*steps, NextStep.of("intervention approve", view.name, rule=Blank(_SCOPES)))
    return replace(view, wanted=wanted, next_steps=steps)


def answer_to(asked: ApprovalRequest, guard_for: GuardFor) -> Proposal:
    """The rules that would have allowed what is asked, under the policy of its host."""
    subject = asked.subject
    if subject.work is not None:
        return _without(NoRule.CODE, asked, "it is the goal of an agent, which no rule reads")
    guard = guard_for(subject.host.name)
    if guard.version != subject.policy:
        told = (
            f"the executor judges by policy {subject.policy}, the one here is {guard.version}: "
            "after a change, executors have to be restarted"
        )
        return _without(NoRule.OTHER_POLICY, asked, told)
    if guard.judge(subject.command, subject.interpreter).allowed:
        wanted = asked.rule in (CRITICAL, NOT_PLANNED)
        return _without(NoRule.WANTED if wanted else NoRule.BROUGHT, asked, asked.reason)
    return propose(guard, subject.command, subject.interpreter)


class Giving:
    """Rules that are about to be given: checked, and not yet in force."""

    def __init__(
        self, rules: Sequence[ProposedRule], outcome: GivenRule, file: StagedFile | None = None
    ) -> None:
        self._rules = rules
        self.outcome = outcome
        self._file = file

    def approvals(
        self,
        connection: Writing,
        asked: Sequence[ApprovalRequest],
        by: str,
        until: datetime,
    ) -> tuple[Approval, ...]:
        """One for each place of the task at which the rules hold from now on; not signed.

        Executors read a policy file when they start: what the file says for all tasks from then
        on, holds for this one at once.
        """
        rule = json.dumps([each.written() for each in self._rules], sort_keys=True)
        everywhere = self.outcome.scope in (ScopeKind.TASK, ScopeKind.SITE)
        places = _places(connection, asked) if everywhere else _asking(asked)
        digests = (rule_digest(rule, *place) for place in places)
        return tuple(
            Approval(digest, ApprovalScope.RULE, by, until, rule=rule)
            for digest in dict.fromkeys(digests)
        )

    def audited(self) -> dict[str, str]:
        """What the audit keeps of it."""
        said = {"rule": self.outcome.scope, "allows": "; ".join(self.outcome.commands)}
        return said | ({} if self._file is None else {"file": str(self._file.target)})

    def put(self) -> None:
        """Write the policy file, if the rules are for one."""
        if self._file is not None:
            self._file.put()


@contextmanager
def giving(
    caller: Caller,
    view: InterventionView,
    asked: Sequence[ApprovalRequest],
    policy: Policy,
    scope: RuleScope,
) -> Iterator[Giving]:
    """Check the rules of a scope that would have allowed everything that is asked.

    Raises Rejected when no rule can help, when the caller may not write this one, when it would
    not hold on the host that asks, and when the policy would not pass its tests with it.
    """
    rules = _rules_for(view, asked, guards_of(caller.settings.server, policy))
    texts = tuple(dict.fromkeys(each.subject.command for each in asked))
    commands = tuple(rule.command for rule in rules)
    reason = f"approved by {caller.actor.name} in {view.ref}"
    group = RuleGroup(reason, tuple(rule.written() for rule in rules), texts)
    said = GivenRule(str(scope), commands, fragment(scope, [group]))
    if scope.kind is ScopeKind.TASK:
        yield Giving(rules, said)
        return
    caller.may(_POLICY_VERB)
    host = asked[0].subject.host.name
    path = caller.settings.server.guard_policy
    with ExitStack() as stack:
        try:
            file = stack.enter_context(_edited(path, scope, group, host, view))
        except (NotEditableError, OSError) as error:
            yield Giving(rules, replace(said, why_not=str(error)))
            return
        _refuse_unless_allowed(file, host, texts, policy, view)
        yield Giving(rules, replace(said, file=file.target), file)


@contextmanager
def _edited(
    path: Path | None, scope: RuleScope, group: RuleGroup, host: str, view: InterventionView
) -> Iterator[StagedFile]:
    """The policy file with the rules, ready to be put in its place."""
    if path is None:
        raise NotEditableError(
            "no policy file is set here: write this to a file, and name it in guard_policy"
        )
    _refuse_elsewhere(path, scope, host, view)
    before = path.read_text(encoding="utf-8")
    with staged(path, with_group(before, scope, group), before) as file:
        yield file


def _refuse_elsewhere(path: Path, scope: RuleScope, host: str, view: InterventionView) -> None:
    """Raise Rejected for a scope that does not include the host that asks."""
    why = _why_elsewhere(path, scope, host)
    if why:
        again = NextStep.of("intervention show", view.name)
        raise Rejected(f"{view.name} asks on {host}: {why}", stage="input", next_step=again)


def _why_elsewhere(path: Path, scope: RuleScope, host: str) -> str:
    if scope.kind is ScopeKind.HOST:
        return "" if scope.name == host else f"a rule for {scope.name} would not hold there"
    if scope.kind is not ScopeKind.GROUP:
        return ""
    text = load_site(path).text
    groups = {} if text is None else text.groups
    if scope.name not in groups:
        known = ", ".join(groups) or "none"
        return f"{path} has no group {scope.name!r}; known: {known}"
    patterns = groups[scope.name].hosts
    inside = any(fnmatchcase(host, pattern) for pattern in patterns)
    return "" if inside else f"it is not in the group {scope.name} ({', '.join(patterns)})"


def _refuse_unless_allowed(
    file: StagedFile, host: str, texts: Iterable[str], policy: Policy, view: InterventionView
) -> None:
    """Raise Rejected unless the new policy passes its tests, and allows the texts on the host."""
    once = NextStep.of("intervention approve", view.name)
    try:
        site = load_site(file.path)
        broken = broken_tests(site)
    except ReplanError as error:
        told = str(error).replace(str(file.path), str(file.target))
        raise Rejected(
            f"the policy would not be valid with this rule: {told}",
            stage="guard",
            next_step=once,
        ) from error
    for test in broken:
        where = test.level or "all hosts"
        raise Rejected(
            f"with this rule, the policy would fail its own test for {where}: {test.command!r} has "
            f"to be {test.expected}, and is {test.verdict}",
            stage="guard",
            next_step=once,
        )
    guard = Guard(replace(site.for_host(host, policy.forbidden_commands), checks=()))
    for text in texts:
        verdict = guard.judge(text)
        if not verdict.allowed:
            told = f"with this rule, it would still not run on {host}: {verdict.reason}"
            raise Rejected(told, stage="guard", next_step=once)


def _rules_for(
    view: InterventionView, asked: Iterable[ApprovalRequest], guard_for: GuardFor
) -> tuple[ProposedRule, ...]:
    rules: dict[ProposedRule, None] = {}
    for each in asked:
        answer = answer_to(each, guard_for)
        for obstacle in answer.obstacles:
            raise Rejected(
                f"no rule can answer {view.name}: {obstacle.reason}; approve it as it stands",
                stage="guard",
                next_step=NextStep.of("intervention approve", view.name),
            )
        rules |= dict.fromkeys(answer.rules)
    return tuple(rules)


def _places(
    connection: Writing, asked: Sequence[ApprovalRequest]
) -> Iterator[tuple[Host, Repository | None]]:
    """The places of the task: that which asks, and its other targets."""
    yield from _asking(asked)
    for task in {each.subject.task for each in asked}:
        for run in runs_at(connection, Ref(task)):
            with suppress(Rejected):  # it is no longer enrolled
                place = targets.reach(connection, run.target)
                yield place.host, place.repository


def _asking(asked: Iterable[ApprovalRequest]) -> Iterator[tuple[Host, Repository | None]]:
    for each in asked:
        yield each.subject.host, each.subject.repository


def _offer(asked: ApprovalRequest, answer: Proposal) -> Offer:
    group = RuleGroup(
        f"approved in T{asked.subject.task}",
        tuple(rule.written() for rule in answer.rules),
        (asked.subject.command,),
    )
    return Offer(
        commands=tuple(rule.command for rule in answer.rules),
        policy=fragment(RuleScope(ScopeKind.SITE), [group]) if answer.rules else "",
        obstacles=answer.obstacles,
    )


def _without(kind: NoRule, asked: ApprovalRequest, reason: str) -> Proposal:
    return Proposal(obstacles=(Obstacle(kind, asked.piece, reason),))
