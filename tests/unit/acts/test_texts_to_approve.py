"""What a whole plan asks a person to approve, and that it is what its executors will look for."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.acts.approvals import PlacedSteps, texts_to_approve
from shared.domain.agent import AgentWork
from shared.domain.approval import SubtaskPart
from shared.domain.author import Author, PlanningRole
from shared.domain.errors import Rejected
from shared.domain.host import LOCALHOST, Host
from shared.domain.jobs import Claim
from shared.domain.plan import Plan, Step, Subtask, SubtaskKind
from shared.domain.snippet import as_command
from shared.domain.target import Repository
from shared.guard import Guard, load_site
from shared.secrets.masking import Masker
from shared.store.database import Database
from shared.store.targets import Place
from workers.passes.ports import Unapproved
from workers.roles.approvals import PassApprovals
from workers.roles.signatures import Signatures

WEB = Host(name="web1", address="192.0.2.1", user="deploy")
AGENT = Subtask(
    1, "a", "", "use $REPLAN_SECRET_X", kind=SubtaskKind.AGENT, agent=AgentWork(runner="codex")
)
GUARD = Guard(load_site(None).for_host("web1", ("halt",)))


def on(plan: Plan, *hosts: Host) -> list[PlacedSteps]:
    """All of the plan on each of these hosts."""
    return [PlacedSteps(Place(host), plan.steps) for host in hosts]


def plan(*subtasks: Subtask) -> Plan:
    author = Author(PlanningRole.HUMAN, "human")
    return Plan((Step(3, "s", "Step", "", author, subtasks=subtasks),))


def test_every_command_is_asked_about_and_looks_only_where_the_guard_wants_it() -> None:
    one = Subtask(1, "a", "", "true", check="test -e /a", preconditions=("eval $X", "true"))
    asked = texts_to_approve(on(plan(one), LOCALHOST, WEB), 7, lambda _: GUARD)
    assert [(a.subject.host.name, a.part, a.subject.command) for a in asked] == [
        (host, part, text)
        for host in ("localhost", "web1")
        for part, text in ((SubtaskPart.PRECONDITION, "eval $X"), (SubtaskPart.COMMAND, "true"))
    ]
    assert len({a.subject.digest for a in asked}) == len(asked)
    assert all(a.reason for a in asked)


@pytest.mark.parametrize("start", [None, "/srv/app", "/srv/other"])
def test_what_lies_where_commands_start_has_one_name(start: str | None) -> None:
    """A plan that writes it by its absolute path and uses it by its relative one asks.

    An account's home and a workspace may be any folder.
    """
    write = Subtask(1, "a", "", "printf 'import os' > /srv/app/argparse.py")
    use = Subtask(2, "b", "", "true", check="python3 -m json.tool package.json")
    asked = texts_to_approve(on(plan(write, use), replace(WEB, workdir=start)), 7, lambda _: GUARD)
    checks = [each.rule for each in asked if each.part is SubtaskPart.CHECK]
    assert checks == ([] if start == "/srv/other" else ["written-script"])
    there = Place(replace(WEB, workdir=start), Repository("r", "web1", "/srv/r"))
    steps = plan(write, use).steps
    asked = texts_to_approve([PlacedSteps(there, steps)], 7, lambda _: GUARD)
    assert [each.rule for each in asked if each.part is SubtaskPart.CHECK] == ["written-script"]


@pytest.mark.parametrize(
    ("subtask", "text"),
    [
        (Subtask(1, "a", "", "true"), "true"),
        (Subtask(1, "a", "", "result = 1", kind=SubtaskKind.CODE), as_command("result = 1")),
        (
            Subtask(1, "a", "", "PASSWORD=${secret:DB} psql -c 'select 1'"),
            "PASSWORD=\"${REPLAN_SECRET_DB}\" psql -c 'select 1'",
        ),
        (AGENT, AGENT.command),
    ],
)
def test_an_executor_makes_the_same_digest_of_what_it_is_about_to_start(
    subtask: Subtask, text: str, tmp_path: Path
) -> None:
    """Each side on its own, from the plan and from the final bytes."""
    (asked,) = texts_to_approve(on(plan(subtask), WEB), 7, lambda _: GUARD)
    database = Database("postgresql://nowhere/x")
    version = asked.subject.policy
    signatures = Signatures((), tmp_path)
    here = PassApprovals(
        database,
        *(Claim(1, 1, "ab"), 7, 3, 0, WEB, version, signatures),
        first_use=lambda _approval, _key: True,
        subtasks={1: subtask},
    )
    there = here.question(Unapproved(1, SubtaskPart.COMMAND, text, GUARD.judge(text)), Masker())
    assert there.subject == asked.subject
    assert there.subject.digest == asked.subject.digest


def test_a_command_is_shown_with_what_would_undo_it(tmp_path: Path) -> None:
    """On both sides; a forbidden one is refused, and no approval covers a rollback."""
    undo = "PASSWORD=${secret:DB} psql -c 'select 1'"
    one = Subtask(1, "a", "", "true", rollback=undo, check="eval $X")
    looked, asked = texts_to_approve(on(plan(one), WEB), 7, lambda _: GUARD)
    assert (looked.rollback, asked.rollback) == (
        "",
        "PASSWORD=\"${REPLAN_SECRET_DB}\" psql -c 'select 1'",
    )
    assert (
        asked.subject
        == texts_to_approve(
            on(plan(replace(one, rollback=None, check=None)), WEB), 7, lambda _: GUARD
        )[0].subject
    )
    here = PassApprovals(
        Database("postgresql://nowhere/x"),
        *(Claim(1, 1, "ab"), 7, 3, 0, WEB, asked.subject.policy, Signatures((), tmp_path)),
        first_use=lambda _approval, _key: True,
        subtasks={1: one},
    )
    verdict = GUARD.judge("true")
    there = here.question(Unapproved(1, SubtaskPart.COMMAND, "true", verdict), Masker())
    assert there.rollback == asked.rollback
    with pytest.raises(Rejected, match="forbidden"):
        texts_to_approve(on(plan(replace(one, rollback="halt")), WEB), 7, lambda _: GUARD)


def test_a_goal_is_no_command_whatever_it_says() -> None:
    """Its check is one."""
    goal = replace(AGENT, command="halt", check="eval $X")
    asked = texts_to_approve(on(plan(goal), WEB), 7, lambda _: GUARD)
    assert [(each.subject.command, each.subject.work) for each in asked] == [
        ("eval $X", None),
        ("halt", AGENT.agent),
    ]
    with pytest.raises(Rejected, match="forbidden"):
        texts_to_approve(on(plan(replace(AGENT, check="halt")), WEB), 7, lambda _: GUARD)


def test_what_happens_in_a_repository_is_bound_to_it() -> None:
    app = Repository("app", "web1", path="/srv/app")
    (asked,) = texts_to_approve(
        [PlacedSteps(Place(WEB, app), plan(AGENT).steps)], 7, lambda _: GUARD
    )
    assert (asked.subject.host, asked.subject.repository) == (WEB, app)


def test_nothing_is_asked_where_something_is_forbidden() -> None:
    both = plan(Subtask(1, "a", "", "true"), Subtask(2, "b", "", "halt"))
    with pytest.raises(
        Rejected, match=r"T7\.3\.2@web1 is forbidden and cannot be approved"
    ) as raised:
        texts_to_approve(on(both, WEB), 7, lambda _: GUARD)
    assert raised.value.stage == "guard"
    assert raised.value.next_step
