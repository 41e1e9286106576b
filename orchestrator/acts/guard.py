"""What a person may ask the guard: its verdict on a command, and its rules."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act
from shared.domain.verdict import Verdict
from shared.guard import Guard, load_site
from shared.guard.policy.allowlist import Coverage


@dataclass(frozen=True, slots=True)
class Under:
    """The policy to judge under: that of a `host`, from the file in the settings or another."""

    host: str | None = None
    policy: Path | None = None


@dataclass(frozen=True, slots=True)
class ProgramLine:
    """A program that a command would run: its words, and what the guard found."""

    runs: str
    at: str
    verdict: str
    rule: str
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The guard's verdict on a command, program by program; `version` is the policy's."""

    verdict: Verdict
    programs: tuple[ProgramLine, ...]
    version: str


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A rule; `source` is who made it."""

    verdict: str
    rule: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class RuleList:
    """The rules in force: those that deny before those that allow."""

    rules: tuple[RuleLine, ...]
    version: str


@act("guard.check")
def check(caller: Caller, command: str, interpreter: str, under: Under) -> Judgement:
    """Whether the guard would let a command run, and why; nothing is run. Raises Misconfigured."""
    guard = _guard(caller, under)
    explanation = guard.explain(command, interpreter)
    programs = (_program(found) for found in explanation.findings if found.run.argv)
    return Judgement(explanation.verdict, tuple(programs), guard.version)


def verdicts(
    caller: Caller, commands: Iterable[str], interpreter: str, under: Under
) -> Iterator[Verdict]:
    """The guard's verdict on each of many commands. Raises Misconfigured."""
    caller.may("guard.check")
    guard = _guard(caller, under)
    for command in commands:
        yield guard.judge(command, interpreter)


@act("guard.rules")
def rules(caller: Caller, program: str | None, under: Under) -> RuleList:
    """Every rule in force, or those about one program. Raises Misconfigured."""
    guard = _guard(caller, under)
    denied = (
        RuleLine("deny", f.entry, f.reason, f.source)
        for f in guard.policy.forbidden
        if program is None or program in f.entry.split()
    )
    allowed = (
        RuleLine("allow", a.name, a.reason, a.source)
        for a in guard.policy.allowances
        if program is None or a.run[0] == program
    )
    return RuleList((*denied, *allowed), guard.version)


def _guard(caller: Caller, under: Under) -> Guard:
    settings = caller.settings
    site = load_site(under.policy or settings.server.guard_policy)
    return Guard(site.for_host(under.host, settings.agent.forbidden_commands))


def _program(found: Coverage) -> ProgramLine:
    allowance, doubt = found.allowance, found.doubt
    return ProgramLine(
        runs=" ".join(map(str, found.run.argv)),
        at=found.run.part,
        verdict="approve" if doubt else "allow",
        rule=allowance.name if allowance else (doubt.rule if doubt else ""),
        source=allowance.source if allowance else "",
        reason=allowance.reason if allowance else (doubt.reason if doubt else ""),
    )
