"""What a person may ask the guard: its verdict on a command."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from orchestrator.acts.caller import Caller
from orchestrator.acts.guard_policies import Under, guard_under
from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.plan_verdicts import TextVerdict, starts_on, verdicts_on_steps
from orchestrator.acts.verbs import act
from shared.contracts.planfile import load_plan
from shared.domain.errors import Misconfigured, Rejected, Transient
from shared.domain.verdict import Verdict, VerdictKind
from shared.guard import Guard, looks
from shared.guard.contained_looks import ContainedLooks
from shared.guard.policy.allowlist import Coverage
from shared.secrets.expansion import to_environment
from shared.secrets.sent import check_plan_secrets


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


@act("guard.check")
def check(
    caller: Caller, command: str, interpreter: str, under: Under, *, look: bool = False
) -> Judgement:
    """Whether the guard would let a command run, and why; nothing is run. Raises Misconfigured.

    As a `look` it is judged as on a host on which looks run contained.
    """
    guard = guard_under(caller, under)
    try:
        sent, _ = to_environment(command)
    except Rejected as error:
        return Judgement(_unsendable(error), (), guard.version)
    explanation = guard.explain(sent, interpreter)
    programs = (_program(found) for found in explanation.findings if found.run.argv)
    verdict = _looks(guard).verdict(sent) if look else explanation.verdict
    return Judgement(verdict, tuple(programs), guard.version)


def verdicts(
    caller: Caller, commands: Iterable[str], interpreter: str, under: Under, *, look: bool = False
) -> Iterator[Verdict]:
    """The guard's verdict on each of many commands, or looks. Raises Misconfigured."""
    caller.may("guard.check")
    guard = guard_under(caller, under)
    looking = _looks(guard) if look else None
    for command in commands:
        try:
            sent, _ = to_environment(command)
        except Rejected as error:
            yield _unsendable(error)
        else:
            yield guard.judge(sent, interpreter) if looking is None else looking.verdict(sent)


@act("guard.check")
def check_plan(caller: Caller, given: PlanText, under: Under) -> tuple[TextVerdict, ...]:
    """The verdict on every text of a plan, each in the knowledge of all others; nothing is run.

    On a host that is enrolled, commands start in its folder; without a database that is not known.
    Raises Rejected for a plan that cannot be carried out, Misconfigured for a policy.
    """
    plan = load_plan(given.text, policy=caller.settings.agent, source=given.source)
    check_plan_secrets(plan)
    host = under.host or ""
    start = _start_of(caller, host) if host else None
    return verdicts_on_steps(guard_under(caller, under), plan.steps, host, start)


def _start_of(caller: Caller, host: str) -> str | None:
    with suppress(Misconfigured, Transient):
        return starts_on(caller, [host])[host]
    return None


def _unsendable(error: Rejected) -> Verdict:
    """A command whose secret no shell would expand is refused before it can run."""
    return Verdict(VerdictKind.DENY, "secret-name", error.reason)


def _looks(guard: Guard) -> ContainedLooks:
    return ContainedLooks(guard, Guard(looks()))


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
