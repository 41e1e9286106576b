"""A step that names its tools may start only those (S3.10)."""

import pytest

from shared.domain.verdict import VerdictKind
from shared.guard import Guard, load_site
from shared.secrets.masking import Masker
from workers.shells.door import PassJudge

GUARD = Guard(load_site(None).for_host("web1", ()))


def judge_of(*tools: str) -> PassJudge:
    """Of a step with these tools."""
    return PassJudge(GUARD, Masker(), programs=GUARD.programs, tools=tools)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("ls /tmp", "allow"),
        ("cd /tmp && ls | grep x; test -e y || echo no", "allow"),
        ("ls /tmp; cat /etc/hosts", "deny"),
        ("ls $(cat /etc/hosts)", "deny"),
        ("env cat /etc/hosts", "deny"),
        ("grep x /tmp/y | sort", "deny"),
        ("ls /tmp; rm -rf /", "deny"),
        ("$TOOL /tmp", "approve"),
        ("ls 'unclosed", "approve"),
    ],
)
def test_what_a_step_starts(command: str, kind: str) -> None:
    judge = judge_of("ls", "grep")
    assert judge.judge(command).kind is VerdictKind(kind)


def test_what_is_forbidden_stays_so_whatever_the_tools_are() -> None:
    judge = judge_of("rm")
    assert judge.judge("rm -rf /").rule != "allowed_tools"
    assert judge.judge("rm -rf /").denied


def test_no_tools_are_none() -> None:
    """An empty list allows only the built-ins of the shell."""
    judge = judge_of()
    assert judge.judge("echo x").allowed
    assert judge.judge("ls").denied
