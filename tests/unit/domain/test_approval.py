"""What an approval is bound to: everything that decides what would happen, and nothing else."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.agent import AgentWork, Progress, RunnerChoice, Watchdog
from shared.domain.approval import (
    Approval,
    ApprovalScope,
    Subject,
    SubtaskPlace,
    plan_digest,
    statement,
)
from shared.domain.author import Author, PlanningRole
from shared.domain.host import ConnectionKind, Host
from shared.domain.plan import Plan, Step, Subtask, SubtaskKind
from shared.domain.target import Repository
from shared.wire import from_json, to_json

HOST = Host(
    name="web1",
    address="192.0.2.1",
    port=22,
    user="deploy",
    key_path="/k",
    host_key="ssh-ed25519 AAAA",
    workdir="/srv",
)
SUBJECT = Subject(
    task=7,
    place=SubtaskPlace(step=1, revision=0, subtask=2),
    command="systemctl restart nginx",
    host=HOST,
    policy="v1",
    environment=("REPLAN_SECRET_A",),
)

OTHERS: dict[str, Subject] = {
    "one byte more": replace(SUBJECT, command="systemctl restart nginx "),
    "one byte other": replace(SUBJECT, command="systemctl restart nginX"),
    "another interpreter": replace(SUBJECT, interpreter="/bin/bash"),
    "another policy": replace(SUBJECT, policy="v2"),
    "another variable": replace(SUBJECT, environment=("REPLAN_SECRET_B",)),
    "one variable more": replace(SUBJECT, environment=("REPLAN_SECRET_A", "LD_PRELOAD")),
    "another task": replace(SUBJECT, task=8),
    "another step": replace(SUBJECT, place=SubtaskPlace(2, 0, 2)),
    "another revision": replace(SUBJECT, place=SubtaskPlace(1, 1, 2)),
    "another subtask": replace(SUBJECT, place=SubtaskPlace(1, 0, 1)),
    "anywhere": SUBJECT.anywhere(),
    "another host": replace(SUBJECT, host=replace(HOST, name="web2")),
    "another address": replace(SUBJECT, host=replace(HOST, address="192.0.2.2")),
    "another port": replace(SUBJECT, host=replace(HOST, port=2222)),
    "another account": replace(SUBJECT, host=replace(HOST, user="root")),
    "the default account": replace(SUBJECT, host=replace(HOST, user=None)),
    "another folder": replace(SUBJECT, host=replace(HOST, workdir="/")),
    "another key of the host": replace(SUBJECT, host=replace(HOST, host_key="ssh-ed25519 BBBB")),
    "no SSH": replace(SUBJECT, host=replace(HOST, connection=ConnectionKind.LOCAL)),
}

TEXTS = st.text(max_size=12) | st.text(st.sampled_from('"\\,[]{}:\0 /ab'), max_size=12)
HOSTS = st.builds(
    Host,
    name=TEXTS,
    connection=st.sampled_from(ConnectionKind),
    address=TEXTS,
    port=st.integers(1, 65535),
    user=st.none() | TEXTS,
    key_path=st.none() | TEXTS,
    host_key=st.none() | TEXTS,
    workdir=st.none() | TEXTS,
)
SUBJECTS = st.builds(
    Subject,
    task=st.integers(1, 9),
    place=st.none() | st.builds(SubtaskPlace, *[st.integers(0, 9)] * 3),
    command=TEXTS,
    host=HOSTS,
    policy=TEXTS,
    interpreter=TEXTS,
    environment=st.lists(TEXTS, unique=True).map(lambda names: tuple(sorted(names))),
)


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_whatever_differs_it_is_another_digest(other: Subject) -> None:
    assert other.digest != SUBJECT.digest


def test_all_of_a_host_counts() -> None:
    """What a host may be told beside this some day is part of where a command runs, too."""
    for field in fields(Host):
        values: dict[str, Any] = {"port": 23, "connection": ConnectionKind.LOCAL}
        other = replace(HOST, **{field.name: values.get(field.name, "other")})
        assert replace(SUBJECT, host=other).digest != SUBJECT.digest, field.name


def test_the_names_of_variables_have_no_order() -> None:
    one = replace(SUBJECT, environment=("A", "B"))
    assert replace(SUBJECT, environment=("B", "A", "B")).digest == one.digest


def test_it_is_the_same_wherever_it_is_made() -> None:
    """Workers and persons compute it on different machines, in different versions of Python."""
    assert SUBJECT.digest == ("098ed8ed24b9d86759b1ddd4e8f74d344e41ff0c8b5fc4f0d1aae09e3c51d566")


GOAL = replace(
    SUBJECT,
    command="make it pass",
    repository=Repository("app", "web1", path="/srv/app"),
    work=AgentWork(watchdog=Watchdog(indicators=frozenset(Progress))),
)


@pytest.mark.parametrize(
    "other",
    [
        replace(GOAL, work=None),
        replace(GOAL, work=AgentWork(runner="codex")),
        replace(GOAL, work=AgentWork(time_budget=7200.0)),
        replace(GOAL, work=AgentWork(cost_budget=1.0)),
        replace(GOAL, work=AgentWork(allowed_tools=("Edit",))),
        replace(GOAL, work=AgentWork(runners=(RunnerChoice("codex", 1),))),
        replace(GOAL, repository=None),
        replace(GOAL, repository=Repository("app", "web1", path="/srv/other")),
        replace(GOAL, repository=Repository("app", "web1", path="/srv/app", setup="make")),
    ],
)
def test_the_work_of_an_agent_and_its_repository_count(other: Subject) -> None:
    assert other.digest != GOAL.digest
    assert from_json(Subject, to_json(GOAL)).digest == GOAL.digest


@given(one=SUBJECTS, other=SUBJECTS)
def test_two_subjects_share_a_digest_only_if_they_are_equal(one: Subject, other: Subject) -> None:
    assert (one.digest == other.digest) == (one == other)


@given(subject=SUBJECTS, at=st.data())
def test_one_byte_anywhere_changes_it(subject: Subject, at: st.DataObject) -> None:
    """In the command, in the policy, in the interpreter: one character is put in somewhere."""
    name = at.draw(st.sampled_from(["command", "policy", "interpreter"]))
    text = getattr(subject, name)
    place = at.draw(st.integers(0, len(text)))
    changed = text[:place] + at.draw(st.characters()) + text[place:]
    assert replace(subject, **{name: changed}).digest != subject.digest


@given(text=st.text(min_size=2, max_size=12), at=st.data())
def test_where_a_text_ends_counts(text: str, at: st.DataObject) -> None:
    """No two ways of cutting one text into fields come out alike."""
    cuts = [(text[:cut], text[cut:]) for cut in range(len(text) + 1)]
    digests = {replace(SUBJECT, command=a, policy=b).digest for a, b in cuts}
    digests |= {replace(SUBJECT, policy=a, interpreter=b).digest for a, b in cuts}
    assert len(digests) == 2 * len(cuts)
    cut = at.draw(st.integers(0, len(text)))
    whole = replace(SUBJECT, environment=(text,))
    assert whole.digest != replace(SUBJECT, environment=(text[:cut], text[cut:])).digest


@given(subject=SUBJECTS.filter(lambda s: s.command.isprintable()))
def test_a_subject_that_was_stored_has_the_digest_it_had(subject: Subject) -> None:
    assert from_json(Subject, to_json(subject)).digest == subject.digest


WORD = Approval(
    "d" * 64, ApprovalScope.ONCE, "ann@desk", datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
)


def test_what_is_signed_says_all_that_an_approval_says() -> None:
    others = (
        replace(WORD, digest="e" * 64),
        replace(WORD, scope=ApprovalScope.TASK),
        replace(WORD, given_by="bob@desk"),
        replace(WORD, expires_at=WORD.expires_at + timedelta(microseconds=1)),
    )
    said = {statement(7, WORD), statement(8, WORD), *(statement(7, other) for other in others)}
    assert len(said) == 2 + len(others)
    assert statement(7, replace(WORD, signature="x")) == statement(7, WORD)


def test_what_is_signed_is_the_same_in_every_time_zone() -> None:
    elsewhere = WORD.expires_at.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert statement(7, replace(WORD, expires_at=elsewhere)) == statement(7, WORD)


def test_a_plan_has_another_digest_when_anything_of_it_changes() -> None:
    subtask = Subtask(1, "a", "", "true")
    step = Step(1, "s", "t", "", Author(PlanningRole.HUMAN, "human"), subtasks=(subtask,))
    plan = Plan((step,))
    others = (
        replace(plan, summary="x"),
        Plan((replace(step, on_failure="continue"),)),  # type: ignore[arg-type]
        Plan((replace(step, subtasks=(replace(subtask, command="false"),)),)),
        Plan((replace(step, subtasks=(replace(subtask, rollback="false"),)),)),
        Plan((step, replace(step, ordinal=2, key="s2"))),
        Plan((replace(step, repository="app"),)),
        Plan((replace(step, subtasks=(_agent(AgentWork()),)),)),
        Plan((replace(step, subtasks=(_agent(AgentWork(runner="codex")),)),)),
    )
    assert len({plan_digest(plan), *map(plan_digest, others)}) == 1 + len(others)
    for each in (plan, *others[-3:]):
        assert plan_digest(from_json(Plan, to_json(each))) == plan_digest(each)


def test_a_plan_that_waited_under_an_older_version_can_be_approved() -> None:
    """What that version did not know is no part of its digest."""
    subtask = Subtask(1, "a", "", "true")
    step = Step(1, "s", "t", "", Author(PlanningRole.HUMAN, "human"), subtasks=(subtask,))
    assert plan_digest(Plan((step,))) == (
        "cdb0cdef1dc759882f96458547262c594c2990324b3991a86b405dae35cc3898"
    )


def _agent(work: AgentWork) -> Subtask:
    return Subtask(1, "a", "", "true", kind=SubtaskKind.AGENT, agent=work)
