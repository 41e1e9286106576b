"""Rules proposed from what people have approved: what each would have saved, and allow."""

import re
from collections import defaultdict
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act
from orchestrator.proposals.learning import Case, LearnedRule, learn
from orchestrator.proposals.policy_file import (
    RuleGroup,
    RuleScope,
    ScopeKind,
    fragment,
    policy_text,
)
from orchestrator.views.answered_requests import (
    AnsweredRequest,
    answered_requests,
    recorded_commands,
)
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.guard import Guard, Site, load_site

_SECONDS = {"h": 3600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, slots=True)
class ProposedPolicy:
    """A rule for whom it holds, as YAML; `texts` were approved, `also` is what it allows besides.

    `saved` is how many of the questions would not have been asked with it and those before it.
    """

    scope: str
    command: str
    policy: str
    questions: int
    saved: int
    hosts: tuple[str, ...]
    texts: tuple[str, ...]
    also: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LearnedRules:
    """The rules that approvals teach; `approved` and `denied` are the questions that were read.

    They were written to the `file`, if there is one.
    """

    rules: tuple[ProposedPolicy, ...]
    approved: int
    denied: int
    file: Path | None = None


@act("guard.learn")
def learn_rules(caller: Caller, since: str, file: Path | None = None) -> LearnedRules:
    """Propose rules from the approvals since then; if there are any, write a new policy file.

    Each is the narrowest that covers what was approved at least twice; none covers what was ever
    denied. Raises Rejected for a bad time, and for a file that exists or cannot be written.
    """
    seconds = _seconds(since)
    with caller.database.reading() as connection:
        answered = answered_requests(connection, seconds)
        recorded = recorded_commands(connection, seconds)
    settings = caller.settings
    site = load_site(settings.server.guard_policy)

    @cache
    def guard_for(host: str) -> Guard:
        return Guard(site.for_host(host, settings.agent.forbidden_commands))

    approved, denied = (
        tuple(case for each in answered if each.approved is said for case in _cases(each))
        for said in (True, False)
    )
    found = learn(approved, denied, recorded, guard_for)
    rules = tuple(_proposed(each, site) for each in found)
    written = file if found else None
    if written is not None:
        _write(written, found, site)
    return LearnedRules(
        rules,
        approved=sum(each.approved for each in answered),
        denied=sum(not each.approved for each in answered),
        file=written,
    )


def _seconds(text: str) -> float:
    found = re.fullmatch(r"([1-9]\d{0,4})([hdw])", text)
    if found is None:
        raise Rejected(
            f"{text!r} is not a valid time; write 12h, 30d or 4w",
            stage="input",
            next_step=NextStep.of("guard learn", help=True),
        )
    return float(found[1]) * _SECONDS[found[2]]


def _cases(answered: AnsweredRequest) -> tuple[Case, ...]:
    """The texts of a question; the goals of agents are none."""
    return tuple(
        Case(each.subject.command, each.subject.host.name, answered.name)
        for each in answered.asked
        if each.subject.work is None
    )


def _scope(learned: LearnedRule, site: Site) -> RuleScope:
    """The narrowest level with all hosts on which it was approved."""
    hosts = {case.host for case in learned.cases}
    if len(hosts) == 1:
        return RuleScope(ScopeKind.HOST, hosts.pop())
    groups = {} if site.text is None else site.text.groups
    for name, group in sorted(groups.items()):
        if all(any(fnmatchcase(host, pattern) for pattern in group.hosts) for host in hosts):
            return RuleScope(ScopeKind.GROUP, name)
    return RuleScope(ScopeKind.SITE)


def _group(learned: LearnedRule) -> RuleGroup:
    questions = len({case.question for case in learned.cases})
    texts = tuple(dict.fromkeys(case.text for case in learned.cases))
    return RuleGroup(f"approved in {questions} questions", (learned.rule.written(),), texts)


def _proposed(learned: LearnedRule, site: Site) -> ProposedPolicy:
    scope, group = _scope(learned, site), _group(learned)
    return ProposedPolicy(
        scope=str(scope),
        command=learned.rule.command,
        policy=fragment(scope, [group], _hosts_of(site).get(scope.name, ())),
        questions=len({case.question for case in learned.cases}),
        saved=learned.saved,
        hosts=tuple(sorted({case.host for case in learned.cases})),
        texts=group.allow,
        also=learned.also,
    )


def _hosts_of(site: Site) -> dict[str, list[str]]:
    return {} if site.text is None else {name: g.hosts for name, g in site.text.groups.items()}


def _write(file: Path, found: tuple[LearnedRule, ...], site: Site) -> None:
    """Write a policy of these rules to a new file."""
    levels: dict[RuleScope, list[RuleGroup]] = defaultdict(list)
    for each in found:
        levels[_scope(each, site)].append(_group(each))
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(policy_text(levels, _hosts_of(site)))
    except OSError as error:
        raise Rejected(
            f"{file} cannot be written: {error.strerror or error}",
            stage="input",
            next_step=NextStep.of("guard learn", help=True),
        ) from error
