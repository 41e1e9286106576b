"""A plan written down is the plan again."""

import string
from dataclasses import replace
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.contracts.planfile import dump_plan, dump_subtasks, load_plan, load_revision
from shared.domain.agent import (
    AgentWork,
    Compliance,
    ExecutionMode,
    Progress,
    RunnerChoice,
    StuckStrategy,
    Trigger,
    Watchdog,
)
from shared.domain.author import Author, PlanningRole
from shared.domain.config import AUTONOMIES, Policy
from shared.domain.plan import OnFailure, Plan, Recovery, Step, Subtask, SubtaskKind
from shared.domain.secret import BadName, names_secret, secret_names
from shared.visible import visible

Item = TypeVar("Item")

KEYS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,10}", fullmatch=True)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40) | st.text(
    string.printable, max_size=40
)


def can_run(text: str) -> bool:
    """Whether it is a command: not blank, and every secret in it is named in full."""
    try:
        secret_names(text)
    except BadName:
        return False
    return bool(text.strip())


def is_below(path: str) -> bool:
    """Whether it names a file from the root of a repository."""
    away = path.startswith(("/", "~")) or ".." in path.split("/")
    return bool(path.strip("./ ")) and not away


COMMANDS = TEXTS.filter(can_run)
TIMEOUTS = st.integers(1, 86_400).map(float) | st.floats(0.1, 86_400)
GOALS = TEXTS.filter(lambda text: not names_secret(text))
CHOICES = st.builds(
    RunnerChoice,
    *(KEYS, st.integers(), st.none() | TIMEOUTS, st.none() | st.sampled_from(Trigger)),
    st.none() | TEXTS.filter(bool),
    st.none() | TEXTS,
    st.none() | KEYS,
)
RUNNERS = st.tuples(st.none() | KEYS, st.just(())) | st.tuples(
    st.none(), st.lists(CHOICES, max_size=2).map(tuple)
)
WORKS = st.builds(
    lambda runners, **fields: AgentWork(runner=runners[0], runners=runners[1], **fields),
    RUNNERS,
    context=st.lists(TEXTS.filter(is_below), max_size=2).map(tuple),
    acceptance=st.lists(GOALS.filter(str.strip), max_size=2).map(tuple),
    mode=st.none() | st.sampled_from(ExecutionMode),
    time_budget=TIMEOUTS,
    cost_budget=st.none() | st.floats(0.001, 100_000),
    allowed_tools=st.none() | st.lists(TEXTS.filter(bool), max_size=2).map(tuple),
    watchdog=st.builds(
        Watchdog,
        st.booleans(),
        TIMEOUTS,
        st.frozensets(st.sampled_from(Progress)),
        st.sampled_from(StuckStrategy),
    ),
    compliance=st.builds(Compliance, st.booleans(), st.booleans()),
)
AUTHORS = st.sampled_from(
    [
        Author(PlanningRole.HUMAN, "human"),
        Author(PlanningRole.SUBTASK_PLANNER, "runbook"),
        Author(PlanningRole.SUBTASK_PLANNER, "anthropic"),
    ]
)


@st.composite
def subtask_lists(draw: st.DrawFn) -> tuple[Subtask, ...]:
    """Subtasks that can be carried out."""
    keys = draw(st.lists(KEYS, min_size=1, max_size=4, unique=True))
    return tuple(
        _subtask(draw, ordinal, keys[: ordinal - 1], key) for ordinal, key in enumerate(keys, 1)
    )


def _subtask(draw: st.DrawFn, ordinal: int, earlier: list[str], key: str) -> Subtask:
    kind = draw(st.sampled_from(SubtaskKind))
    work = draw(WORKS) if kind is SubtaskKind.AGENT else None
    return Subtask(
        ordinal=ordinal,
        key=key,
        title=draw(TEXTS),
        command=draw(COMMANDS) if work is None else f"goal {ordinal}: {draw(GOALS)}",
        check=draw(st.none() | COMMANDS),
        timeout=draw(TIMEOUTS) if work is None else work.time_budget,
        preconditions=tuple(draw(st.lists(COMMANDS, max_size=2))),
        needs=_some(draw, earlier),
        critical=draw(st.booleans()),
        rollback=draw(st.none() | COMMANDS),
        idempotent=draw(st.booleans()),
        kind=kind,
        agent=work,
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans that can be carried out, by hand or by the subtask planner."""
    keys = draw(st.lists(KEYS, min_size=1, max_size=4, unique=True))
    steps = tuple(
        Step(
            ordinal=ordinal,
            key=key,
            title=draw(TEXTS.filter(bool)),
            instruction=draw(TEXTS),
            author=draw(AUTHORS),
            depends_on=_some(draw, list(range(1, ordinal))),
            parallel_group=draw(st.none() | KEYS),
            recovery=draw(st.sampled_from(Recovery)),
            on_failure=draw(st.sampled_from(OnFailure)),
            subtasks=draw(subtask_lists()),
            repository=draw(st.none() | KEYS),
        )
        for ordinal, key in enumerate(keys, 1)
    )
    return Plan(steps, draw(TEXTS), draw(st.sampled_from([None, *AUTONOMIES])))


def _some(draw: st.DrawFn, items: list[Item]) -> tuple[Item, ...]:
    return tuple(draw(st.lists(st.sampled_from(items), unique=True))) if items else ()


@settings(max_examples=60, deadline=None)
@given(plans())
def test_a_plan_written_down_is_the_plan_again(plan: Plan) -> None:
    assert load_plan(dump_plan(plan), policy=Policy()) == plan


@settings(max_examples=60, deadline=None)
@given(subtask_lists())
def test_subtasks_written_down_are_the_subtasks_again(subtasks: tuple[Subtask, ...]) -> None:
    """What nobody sees is written out in YAML's own way, so printing it changes nothing."""
    text = dump_subtasks(subtasks)
    assert visible(text) == text
    assert load_revision(text, policy=Policy()) == subtasks


@settings(max_examples=20, deadline=None)
@given(plans())
def test_a_step_of_the_main_planner_comes_back_as_the_subtask_planners(plan: Plan) -> None:
    mine = Author(PlanningRole.PLANNER, "anthropic")
    written = replace(plan, steps=tuple(replace(step, author=mine) for step in plan.steps))
    read = load_plan(dump_plan(written), policy=Policy())
    theirs = Author(PlanningRole.SUBTASK_PLANNER, "anthropic")
    assert read.steps == tuple(replace(step, author=theirs) for step in plan.steps)


def test_a_script_of_several_lines_is_written_as_a_person_would() -> None:
    subtask = Subtask(1, "a", "t", "echo one\necho two\n")
    assert "run: |\n    echo one\n    echo two\n" in dump_subtasks((subtask,))


def test_what_goes_without_saying_is_not_written() -> None:
    written = dump_subtasks(
        (Subtask(1, "a", "t", "true"), Subtask(2, "b", "t", "true", needs=("a",)))
    )
    assert "needs" not in written
    assert "check" not in written
