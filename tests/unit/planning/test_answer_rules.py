"""Answers whose commands act on another host or are copied from a log are refused."""

import pytest

from shared.domain.errors import Rejected
from shared.domain.plan import Subtask
from shared.guard import Guard, load_site
from workers.llm.answer_rules import refuse_other_hosts

GUARD = Guard(load_site(None).for_host())
TASK = "Copy the dumps of db1 to the new disk"


def refusal(command: str) -> str:
    """Why a command is refused; empty if it is not."""
    try:
        refuse_other_hosts([Subtask(1, "s", "t", command)], TASK, GUARD.explain)
    except Rejected as error:
        return error.reason
    return ""


@pytest.mark.parametrize(
    ("command", "host"),
    [
        ("ssh web2 uptime", "web2"),
        ("ssh deploy@web2 'rm -f /tmp/x'", "web2"),
        ("test -e /x || ssh -p 2222 root@10.0.0.7 reboot", "10.0.0.7"),
        ("scp /etc/hosts web2:/etc/hosts", "web2"),
        ("scp deploy@web2:/etc/hosts .", "web2"),
        ("rsync -a /srv/ rsync://web2/srv", "web2"),
        ("rsync -a /srv/ web2::srv", "web2"),
        ("ansible web2 -m ping", "web2"),
        ("sh -c 'ssh web2 true'", "web2"),
    ],
)
def test_a_command_for_another_host_is_refused_with_its_name(command: str, host: str) -> None:
    assert f"another host ({host})" in refusal(command)


@pytest.mark.parametrize(
    "command",
    [
        "ssh -V",
        "ssh localhost true",
        "ssh-keygen -y -f key",
        "scp db1:/dumps/a.sql /srv/",
        "rsync -a /srv/a/ /srv/b/",
        "rsync -a /srv/2026-01-01T12:00/ /srv/b/",
        "systemctl restart sshd",
        "git clone ssh://git@example.org/x.git",
        "echo ssh web2",
    ],
)
def test_what_stays_on_the_target_or_is_named_by_the_task_is_not(command: str) -> None:
    assert refusal(command) == ""
