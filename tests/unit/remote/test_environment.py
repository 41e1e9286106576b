"""The environment of every command."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.programs import _bundled, search_path
from workers.shells.remote.environment import EXPORTS, NON_INTERACTIVE, local_environment
from workers.shells.remote.signals import exit_code_of


def test_nothing_of_the_workers_own_environment_is_passed_on() -> None:
    """A command must not read the worker's settings, keys, or anything else in there."""
    own = {
        "PATH": "/somewhere/bin",
        "REPLAN_SERVER_DATABASE_URL": "postgresql://secret",
        "ANTHROPIC_API_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "SSH_AUTH_SOCK": "/tmp/agent",
        "PYTHONPATH": "/work",
        "LD_PRELOAD": "x.so",
        "BASH_ENV": "x.sh",
        "HOME": "/elsewhere",
    }
    environment = local_environment(own)

    assert environment["PATH"] == search_path("/somewhere/bin")
    assert environment["HOME"] != "/elsewhere"
    assert "secret" not in " ".join(environment.values())
    assert not {"SSH_AUTH_SOCK", "PYTHONPATH", "LD_PRELOAD", "BASH_ENV"} & set(environment)


def test_a_worker_without_an_environment_still_has_a_path() -> None:
    """As under a service manager."""
    assert "/usr/bin" in local_environment({})["PATH"]


@pytest.fixture
def fresh() -> Iterator[None]:
    """Look again for what is installed."""
    _bundled.cache_clear()
    yield
    _bundled.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_the_agents_that_are_installed_with_replan_are_found_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version on the account's own PATH is the one that it wants."""
    program = tmp_path / "claude_agent_sdk/_bundled/claude"
    program.parent.mkdir(parents=True)
    program.touch()
    (tmp_path / "claude_agent_sdk/__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert local_environment({"PATH": "/usr/bin"})["PATH"] == f"/usr/bin:{program.parent}"
    program.unlink()
    _bundled.cache_clear()
    assert local_environment({"PATH": "/usr/bin"})["PATH"] == "/usr/bin"


def test_the_values_need_no_quoting() -> None:
    """They stand in shell text as they are."""
    assert all(shlex.quote(value) == value for value in NON_INTERACTIVE.values())
    assert EXPORTS.isprintable()
    assert "'" not in EXPORTS


def test_signals_are_told_as_shells_do() -> None:
    """By name from SSH, by number from this machine."""
    assert exit_code_of("KILL") == 137
    assert exit_code_of("TERM") == 143
    assert exit_code_of("NOSUCH@openssh.com") == 255
