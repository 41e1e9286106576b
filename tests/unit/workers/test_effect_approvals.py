"""What a site allows by its effects: only what a preview shows whole, in bounds, and tested."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from shared.domain.author import Author, PlanningRole
from shared.domain.config import PLAN, Policy
from shared.domain.host import LOCALHOST
from shared.domain.plan import Step, Subtask
from shared.guard import Guard, load_site
from shared.guard.policy.effect_rules import EffectRule
from shared.secrets.masking import Masker
from shared.secrets.sent import as_sent
from tests.fakes.scripted_shell import ScriptedShell
from workers.passes.approval_gate import NothingApproved
from workers.passes.ports import PassOrder
from workers.roles.effect_approvals import EffectApprovals
from workers.shells.door import PassJudge

RULE = EffectRule(("sed", "-i"), ("/etc/nginx",), "nginx -t")
EDIT = "sed -i s/80/81/ /etc/nginx/nginx.conf"
STATE = "81a4 0 0 10 1"
GOOD = ("code=0", "changed=/etc/nginx/nginx.conf", f"was={STATE}", f"is={STATE}", "diff=--- a")


def allows(
    text: str = EDIT,
    fields: Sequence[str] = GOOD,
    *,
    tested: Sequence[str] = GOOD,
    subtask: Subtask | None = None,
    policy: Policy | None = None,
    rule: EffectRule = RULE,
) -> tuple[bool, list[str]]:
    """Whether the effects let that command run, and the host that was asked."""
    site = load_site(None).for_host(None)
    guard = Guard(replace(site, effects=(rule,)))
    planned = subtask or Subtask(1, "edit", "edit", text)
    order = PassOrder(
        run_id=1,
        task_ref="T1",
        target=LOCALHOST,
        step=Step(
            1, "configure", "configure", "", Author(PlanningRole.HUMAN, ""), subtasks=(planned,)
        ),
        subtasks=(as_sent(planned),),
        revision=0,
        pass_no=1,
        policy=policy or Policy(),
    )
    alone, with_test = (
        "".join(f"{each}\0" for each in (*told, "done=yes")) for told in (fields, tested)
    )
    host = ScriptedShell({re.compile("nginx -t"): with_test}, default=alone)
    approvals = EffectApprovals(
        NothingApproved(), order, host, guard, lambda g: PassJudge(g, Masker()), Masker()
    )
    granted = approvals.spend(1, text, "key")
    if granted is not None:
        assert granted.rule == "effects: sed -i"
        assert granted.preview is not None
        assert granted.preview.complete
    return granted is not None, host.commands


def test_an_edit_in_bounds_that_passes_its_test_is_allowed() -> None:
    allowed, asked = allows()
    assert allowed
    assert ["nginx -t" in each for each in asked] == [False, True]


def test_what_its_test_changes_is_no_effect_of_the_command() -> None:
    written = (*GOOD, "created=/run/nginx.pid", f"is={STATE}", "service=x")
    assert allows(tested=written)[0]


@pytest.mark.parametrize(
    "tested", [("code=1", *GOOD[1:]), (*GOOD, "ended=time"), ("none=overlay",)]
)
def test_what_does_not_pass_its_test_asks_a_person(tested: Sequence[str]) -> None:
    assert allows(tested=tested)[0] is False


@pytest.mark.parametrize(
    "fields",
    [
        (*GOOD, "created=/etc/cron.d/x", f"is={STATE}"),
        (*GOOD, "deleted=/etc/nginx/other", f"was={STATE}"),
        (*GOOD, "created=/etc/nginx/link", "is=a1ff 0 0 1 1", "has=/etc/passwd"),
        (*GOOD, "created=/etc/nginx/x", "is=89ed 0 0 1 1"),
        ("code=0", "changed=/etc/nginx/nginx.conf", f"was={STATE}", "is=81ff 0 0 10 1"),
        ("code=0", "changed=/etc/nginx/nginx.conf", f"was={STATE}", "is=81a4 7 0 10 1"),
        ("code=0", "changed=/etc/nginx/nginx.conf", "was=81a4 0 0 10 2", f"is={STATE}"),
        ("code=0", "changed=/etc/nginx-evil/x", f"was={STATE}", f"is={STATE}"),
        ("code=0", "changed=/etc/nginx/../passwd", f"was={STATE}", f"is={STATE}"),
        ("code=1", *GOOD[1:]),
        ("code=0",),
        (*GOOD, "ended=time"),
        ("complaint=network", *GOOD),
        ("service=systemctl restart x", *GOOD),
        ("signal=pkill nginx", *GOOD),
        ("none=overlay",),
    ],
)
def test_whatever_else_the_preview_shows_asks_a_person(fields: Sequence[str]) -> None:
    assert allows(fields=fields)[0] is False


@pytest.mark.parametrize(
    "text",
    [
        "sed -i s/80/81/ /etc/nginx/nginx.conf; echo x > /etc/cron.d/x",
        "sed -i '1e touch /tmp/x' /etc/nginx/nginx.conf",
        "sed -i s/80/81/ /etc/hosts",
        "tee /etc/nginx/x < /dev/null",
        'sed -i s/80/81/ "/etc/nginx/$(cat /tmp/name)"',
        "rm -rf /etc/nginx",
        'sed -i "s/x/$REPLAN_SECRET_KEY/" /etc/nginx/nginx.conf',
    ],
)
def test_a_command_that_asks_for_more_than_the_place_is_not_even_tried(text: str) -> None:
    allowed, asked = allows(text)
    assert (allowed, asked) == (False, [])


def test_what_a_person_must_confirm_stays_theirs() -> None:
    critical = Subtask(1, "edit", "edit", EDIT, critical=True)
    assert allows(subtask=critical)[0] is False
    assert allows(policy=Policy(autonomy=PLAN))[0] is False
    assert allows("grep -q x /etc/nginx/x", subtask=Subtask(1, "edit", "edit", EDIT))[0] is False
