"""A database of its own, and somebody who acts."""

import pytest

from orchestrator.access.actor import Actor
from orchestrator.access.roles import AccessRole


@pytest.fixture
def ann() -> Actor:
    """An admin."""
    return Actor("ann@box", AccessRole.ADMIN)
