"""What happens when something that a test needs cannot be had: the only place that skips a test."""

import os
from typing import NoReturn

import pytest


class UnavailableError(Exception):
    """A server or a tool cannot be had; the message says what was tried and what to install."""


def give_up(reason: UnavailableError) -> NoReturn:
    """Fail under CI=true, where nothing may be left out; elsewhere skip with the reason."""
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(str(reason), pytrace=False)
    pytest.skip(str(reason))


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may do this")


def not_possible_here(why: str) -> NoReturn:
    """Skip: this account, container or system cannot do it, whatever is installed."""
    pytest.skip(why)


def only_when_asked(variable: str, value: str, why: str) -> pytest.MarkDecorator:
    """A mark: skip unless the environment asks for it, because it takes long or needs root."""
    return pytest.mark.skipif(os.environ.get(variable) != value, reason=why)
