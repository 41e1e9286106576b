"""A message names a few jobs by number; any other message is dropped."""

from types import SimpleNamespace
from typing import Any

import pytest

from shared.queue.app import JOBS_A_MESSAGE
from workers.process.messages import LARGEST, fault_of

NOTHING: dict[str, Any] = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}


def message(arguments: Any, named: Any = None, embedded: Any = None, **headers: Any) -> Any:
    """As Celery unpacks one."""
    payload = (arguments, named or {}, NOTHING if embedded is None else embedded)
    return SimpleNamespace(payload=payload, headers=headers)


@pytest.mark.parametrize("arguments", [[1], [LARGEST], list(range(1, JOBS_A_MESSAGE + 1)), [5, 5]])
def test_numbers_of_jobs_are_let_in(arguments: list[int]) -> None:
    assert fault_of(message(arguments)) == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        None,
        "1",
        {"1": 1},
        [True],
        ["1"],
        [1.0],
        [0],
        [-1],
        [LARGEST + 1],
        [1, None],
        [1, "2"],
        [[1, 2]],
        list(range(1, JOBS_A_MESSAGE + 2)),
    ],
)
def test_anything_else_is_dropped(arguments: Any) -> None:
    assert fault_of(message(arguments))


@pytest.mark.parametrize(
    "more",
    [
        {"named": {"job": 1}},
        {"embedded": {**NOTHING, "callbacks": [{"task": "x"}]}},
        {"embedded": []},
        {"eta": "2030-01-01T00:00:00"},
        {"expires": 5},
        {"timelimit": [None, 5]},
        {"chord": {"task": "x"}},
    ],
)
def test_a_message_that_holds_more_is_dropped(more: dict[str, Any]) -> None:
    assert fault_of(message([1], **more))
