"""What happens when a service that a test needs cannot be had on this machine."""

import os
from typing import NoReturn

import pytest


class UnavailableError(Exception):
    """A service cannot be had; the message says what was tried and what to install."""


def give_up(reason: UnavailableError) -> NoReturn:
    """Fail under CI=true, where nothing may be left out; elsewhere skip with the reason."""
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(str(reason), pytrace=False)
    pytest.skip(str(reason))
