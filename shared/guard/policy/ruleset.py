"""All rules together, found by the program that runs."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.globs import Match
from shared.guard.policy.rules import Rule, WriteRule, names_of
from shared.guard.programs.options import arguments
from shared.guard.words import Run

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class RuleSet:
    """The rules of one `forbidden_commands` list; `reasons` says of entries what they do."""

    def __init__(self, rules: Iterable[Rule], reasons: Mapping[str, str] = NOTHING) -> None:
        self._reasons = reasons
        self._by_program: dict[str, list[Rule]] = {}
        self._any_program: list[Rule] = []
        self._writes: list[WriteRule] = []
        for rule in rules:
            if isinstance(rule, WriteRule):
                self._writes.append(rule)
            elif rule.programs is None:
                self._any_program.append(rule)
            else:
                for program in rule.programs:
                    self._by_program.setdefault(program, []).append(rule)

    def verdicts(self, runs: Iterable[Run]) -> Iterator[Verdict]:
        """A verdict for every rule that a run hits, or may hit."""
        for run in runs:
            rules = self._rules_for(run)
            if not rules:
                continue
            given = arguments(run.program, run.argv[1:])
            for rule in rules:
                found = rule.match(run, given)
                if found:
                    sure = found if run.sure else Match.MAYBE
                    yield _verdict(rule, run, sure, self._reasons.get(rule.entry, ""))

    def _rules_for(self, run: Run) -> list[Rule]:
        rules = [*self._any_program] if run.argv else []
        for name in names_of(run.program):
            rules += self._by_program.get(name, ())
        return [*rules, *self._writes] if run.writes else rules


def _verdict(rule: Rule, run: Run, found: Match, why: str) -> Verdict:
    shown = " ".join(map(str, run.argv or run.writes))[:200]
    if found is Match.YES:
        told = f"{shown} ({why})" if why else shown
        reason = f"`{rule.entry}` is forbidden: {told}"
        return Verdict(VerdictKind.DENY, rule.entry, reason, run.part)
    reason = f"`{rule.entry}` is forbidden, and this may turn out to be it: {shown}"
    return Verdict(VerdictKind.APPROVE, rule.entry, reason, run.part)
