"""The environment of every command."""

import shlex

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

    assert environment["PATH"] == "/somewhere/bin"
    assert environment["HOME"] != "/elsewhere"
    assert "secret" not in " ".join(environment.values())
    assert not {"SSH_AUTH_SOCK", "PYTHONPATH", "LD_PRELOAD", "BASH_ENV"} & set(environment)


def test_a_worker_without_an_environment_still_has_a_path() -> None:
    """As under a service manager."""
    assert "/usr/bin" in local_environment({})["PATH"]


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
