"""Workers, as people call them."""

import pytest

from orchestrator.words.workers import name_worker


@pytest.mark.parametrize(
    ("owner", "told"),
    [
        ("executor.7@web-1", "executor 7 on web-1"),
        ("executor.7@web-1/abcd1234.00000000", "executor 7 on web-1"),
        ("planner-executor.4711@vm/1", "planner-executor 4711 on vm"),
        ("all.1@localhost/x", "all 1 on localhost"),
        ("a person", "a person"),
        ("executor.1/2", "executor.1/2"),
        ("", ""),
    ],
)
def test_a_signature_is_read_as_role_number_and_host(owner: str, told: str) -> None:
    """What is signed otherwise stays as it is."""
    assert name_worker(owner) == told
