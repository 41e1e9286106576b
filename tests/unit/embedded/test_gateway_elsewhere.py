"""`up` starts a model gateway only where its address is one of this machine."""

import pytest

from orchestrator.embedded.stack import is_served_here


@pytest.mark.parametrize(
    ("gateway", "here"),
    [
        ("", True),
        ("http://127.0.0.1:8791", True),
        ("http://localhost:8791", True),
        ("http://[::1]:8791", True),
        ("http://[::1:8791", True),
        ("http://10.0.0.1:8791", False),
        ("http://gateway.internal:8791", False),
    ],
)
def test_a_gateway_of_another_machine_is_not_started(gateway: str, here: bool) -> None:
    assert is_served_here(gateway) == here
