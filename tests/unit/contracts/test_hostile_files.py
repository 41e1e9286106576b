"""Plan files and files of tasks that somebody spoiled: a plan, or a Rejected; never a traceback."""

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.contracts.agent_tasks import load_tasks
from shared.contracts.planfile import load_plan
from shared.domain.config import Policy
from shared.domain.errors import Rejected

PLAN = """
steps:
  - title: Mend
    id: mend
    repository: app
    subtasks:
      - kind: agent
        goal: Mend it
        check: 'true'
        agent:
          context: [a.py]
          acceptance: [it works]
          runners: [{runner: codex, timeout: 5m}, {runner: command, command: 'x {task_file}'}]
          execution_mode: autonomous
          time_budget: 90m
          allowed_tools: [Edit]
          watchdog: {check_interval: 5m, progress_indicators: [commits]}
          validation: {fail_on_violation: true}
  - title: Look
    depends_on: [mend]
    subtasks: [{run: ls, needs: []}]
"""
TASKS = """
runners:
  codex:
    type: codex
    command: codex --mode agent
    autonomous_mode: {enabled: true, prepend_protocol: true, protocol_file: p.md}
tasks:
  - {id: a, file: a.md, runner: codex, execution_mode: autonomous, time_budget: 45}
  - id: b
    file: b.md
    depends_on: [a]
    runner_strategy: fallback
    runners: [{type: codex, priority: 1, timeout: 5, trigger: on_failure}]
    watchdog: {enabled: true, check_interval: 5m, escalation_strategy: notify}
    validation: {check_autonomous_compliance: true}
"""


def _plan(text: str) -> object:
    return load_plan(text, policy=Policy())


def _tasks(text: str) -> object:
    return load_tasks(text, read=lambda name: f"Do what {name} says.\n")


READERS = pytest.mark.parametrize(("read", "text"), [(_plan, PLAN), (_tasks, TASKS)])

LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.dates(),
    st.binary(max_size=8),
    st.sampled_from(["", " ", "\0", "${secret:X}", "${", "a\nb", "-1m", "9" * 400, "\ud800"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    pairs = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else pairs:
        yield from _paths(inner, (*path, key))


def _read(read: Callable[[str], object], text: str) -> None:
    with suppress(Rejected):
        read(text)


@READERS
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_value_of_another_kind(
    read: Callable[[str], object], text: str, data: st.DataObject
) -> None:
    """Wherever it stands, with a key more or less."""
    document = copy.deepcopy(yaml.safe_load(text))
    *above, last = data.draw(st.sampled_from([path for path in _paths(document) if path]))
    there = document
    for key in above:
        there = there[key]
    there[last] = data.draw(VALUES)
    if isinstance(there, dict) and data.draw(st.booleans()):
        there[data.draw(st.text(max_size=9))] = there.pop(last)
    try:
        spoiled = yaml.safe_dump(document, allow_unicode=True)
    except UnicodeEncodeError:
        return
    _read(read, spoiled)


@READERS
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_text_with_a_hole_or_a_patch(
    read: Callable[[str], object], text: str, data: st.DataObject
) -> None:
    """As an editor or a broken transfer leaves it."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    _read(read, text[:start] + data.draw(st.text(max_size=12)) + text[end:])


@READERS
@pytest.mark.parametrize(
    "spoiled",
    ["", "---\n---\n", "[" * 5000, "a: &a [*a]", "&a {a: *a}", "\ufeff", "!!python/name:os.system"],
)
def test_what_is_not_a_document(read: Callable[[str], object], text: str, spoiled: str) -> None:
    del text
    with pytest.raises(Rejected):
        read(spoiled)
