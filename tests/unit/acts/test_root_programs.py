"""Which commands are known to need root."""

import pytest

from orchestrator.acts.root_programs import needs_root, starts_sudo
from shared.guard.effects import programs_in


@pytest.mark.parametrize(
    "text",
    [
        "apt update",
        "DEBIAN_FRONTEND=noninteractive apt-get install -y nginx",
        "cd /srv && systemctl restart nginx",
        "dpkg -i a.deb",
        "useradd app",
        "apk add curl",
    ],
)
def test_a_command_of_root_is_known(text: str) -> None:
    assert needs_root(programs_in(text))


@pytest.mark.parametrize(
    "text",
    [
        "sudo apt update",
        "apt list --installed",
        "apt-get install --simulate nginx",
        "systemctl --user start app",
        "systemctl status nginx",
        "echo apt update",
        '[ "$(id -u)" = 0 ] && apt update',
        "su -c 'apt update'",
        "apt update (",
        "ls",
    ],
)
def test_what_anybody_may_run_or_becomes_root_is_none(text: str) -> None:
    assert not needs_root(programs_in(text))


@pytest.mark.parametrize(
    "text",
    [
        "sudo apt update",
        "FOO=1 sudo -n -u app ls | cat",
        "/usr/bin/sudo ls",
        "env A=b sudo ls",
        "bash -c 'sudo ls'",
        'echo "$(sudo cat /x)"',
        "cd /srv && sudo ls",
    ],
)
def test_a_text_starts_sudo(text: str) -> None:
    assert starts_sudo(programs_in(text))


@pytest.mark.parametrize(
    "text",
    [
        "apt update",
        "echo sudo",
        "apt-get install sudo",
        "command -v sudo && sudo apt update",
        "if which sudo; then sudo apt update; else apt update; fi",
        "[ -x /usr/bin/sudo ] && sudo ls",
        "sudo (",
        "pseudo ls",
    ],
)
def test_a_text_does_not_or_asks_first(text: str) -> None:
    assert not starts_sudo(programs_in(text))
