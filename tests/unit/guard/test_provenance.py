"""What plans leave on a host, and what the guard makes of it."""

import re

from shared.domain.provenance import Mark, MarkKind
from shared.guard import Guard, PlanGuard, load_site
from shared.guard.paths import START
from shared.guard.policy.ground import Ground
from shared.guard.policy.operands import CHANGING, KINDS, WRITING
from shared.guard.words import literal_word

GUARD = Guard(load_site(None).for_host())


def test_a_kind_of_operand_that_looks_at_where_it_writes_leaves_something_there() -> None:
    """Provenance follows kinds of words: one that is for /tmp and not for /usr changes files."""
    policy = load_site(None).for_host()
    ground = Ground(policy.territory, (START,), re.compile(""))
    chosen = {
        name
        for name, holds in KINDS.items()
        if holds(literal_word("/tmp/a.tar"), ground) is None
        and holds(literal_word("/usr/share/a.tar"), ground) is not None
    }
    assert chosen >= WRITING
    assert chosen <= CHANGING


def test_a_plan_asks_for_the_other_parts_and_for_earlier_tasks_once_and_only_if_it_must() -> None:
    """A text that neither runs nor changes anything costs no question to the database."""
    asked: list[str] = []

    def elsewhere() -> list[str]:
        asked.append("elsewhere")
        return []

    def remembered() -> dict[Mark, str]:
        asked.append("remembered")
        return {}

    texts = ["ls /srv", "echo a", "cat /srv/x", "uptime", "sh ~/x.sh"]
    plan = PlanGuard(GUARD, texts, elsewhere=elsewhere, remembered=remembered)
    assert all(plan.judge(text).allowed for text in texts[:-1])
    assert asked == []
    assert all(plan.judge(texts[-1]).allowed for _ in range(2))
    assert asked == ["elsewhere", "remembered"]


def test_a_reason_names_the_place_and_the_task_that_left_something_there() -> None:
    """Whoever approves has to know what to look at."""
    marks = {Mark(MarkKind.WRITTEN, "~/x.sh"): "T12"}
    verdict = PlanGuard(GUARD, ["sh ~/x.sh"], remembered=lambda: marks).judge("sh ~/x.sh")
    assert verdict.rule == "written-script"
    assert "~/x.sh" in verdict.reason
    assert "T12" in verdict.reason
    own = PlanGuard(GUARD, ["printf a > ~/x.sh"]).judge("printf a > ~/x.sh; cat ~/x.sh")
    assert own.allowed
