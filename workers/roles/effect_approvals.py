"""Approvals of a pass, by people and by the effects of a command."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from shared.domain.config import PLAN
from shared.domain.plan import SubtaskKind
from shared.domain.preview import Preview
from shared.domain.verdict import VerdictKind
from shared.guard import Guard
from shared.guard.policy.effect_rules import EffectRule
from shared.secrets.masking import Masker
from shared.secrets.sent import variables_in
from workers.passes.ports import Approvals, Granted, PassOrder
from workers.roles.previews import reading_of
from workers.shells.door import Judge
from workers.shells.ports import Shell
from workers.shells.preview import Wanted, preview

JudgeOf = Callable[[Guard], Judge]
"""Everything that a text of the pass must get past, with that guard."""


@dataclass(frozen=True, slots=True)
class EffectApprovals:
    """The approvals of people, and besides what a site allows by its effects (`effects`).

    The effects are looked at right before the command runs, each time. What a plan declares as
    critical, and everything under `autonomy: plan`, needs a person (`workers.passes.ports`).
    """

    given: Approvals
    order: PassOrder
    shell: Shell
    guard: Guard
    judge_of: JudgeOf
    masker: Masker

    def holds(self, subtask: int, text: str) -> bool:
        """Whether a person's approval is unused. Raises Transient."""
        return self.given.holds(subtask, text)

    def spend(self, subtask: int, text: str, key: str) -> Granted | None:
        """Use a person's approval, or find that the effects allow it. Raises as `given` does."""
        granted = self.given.spend(subtask, text, key)
        if granted is None and self._is_plain_command(text):
            return self._by_effects(text)
        return granted

    def _is_plain_command(self, text: str) -> bool:
        if self.order.policy.autonomy == PLAN or variables_in(text):
            return False
        mine = [each for each in self.order.subtasks if each.command == text]
        return bool(mine) and all(
            each.kind is SubtaskKind.COMMAND and not each.critical for each in mine
        )

    def _by_effects(self, text: str) -> Granted | None:
        rules = self.guard.policy.effects
        if not rules or self.judge_of(self.guard).judge(text).kind is not VerdictKind.APPROVE:
            return None
        for rule, wider in wider_guards(self.guard, rules, text):
            if not self.judge_of(wider).judge(text).allowed:
                continue
            seen = self._seen(Wanted(text), wider)
            if rule.bounds(seen) and self._seen(Wanted(text, rule.then), wider).exit_code == 0:
                return Granted(rule.name, seen)
        return None

    def _seen(self, wanted: Wanted, guard: Guard) -> Preview:
        return preview(self.shell, wanted, partial(reading_of, guard), self.masker)


def wider_guards(
    guard: Guard, rules: Iterable[EffectRule], command: str
) -> Iterator[tuple[EffectRule, Guard]]:
    """Each rule that is about the command, and the guard to which its folders are places to write.

    A rule is about it if every program in it that asks begins with the words of the rule. Only what
    that guard allows may be allowed by its effects: it decides about everything but the place.
    """
    asking = [
        [str(word) for word in found.run.argv]
        for found in guard.explain(command).findings
        if found.doubt is not None
    ]
    for rule in rules:
        if asking and all(tuple(words[: len(rule.run)]) == rule.run for words in asking):
            territory = guard.policy.territory
            wider = replace(territory, write=(*territory.write, *rule.below))
            yield rule, Guard(replace(guard.policy, territory=wider, checks=()))
