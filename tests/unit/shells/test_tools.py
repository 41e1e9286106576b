"""A step that names its tools may start only those (S3.10)."""

import pytest

from shared.domain.verdict import VerdictKind
from shared.guard import Guard, load_site
from workers.shells.allowed_tools import ToolsJudge

GUARD = Guard(load_site(None).for_host("web1", ()))


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
    judge = ToolsJudge(GUARD, GUARD.programs, ("ls", "grep"))
    assert judge.judge(command).kind is VerdictKind(kind)


def test_what_is_forbidden_stays_so_whatever_the_tools_are() -> None:
    judge = ToolsJudge(GUARD, GUARD.programs, ("rm",))
    assert judge.judge("rm -rf /").rule != "allowed_tools"
    assert judge.judge("rm -rf /").denied


def test_no_tools_are_none() -> None:
    """An empty list allows only the built-ins of the shell."""
    judge = ToolsJudge(GUARD, GUARD.programs, ())
    assert judge.judge("echo x").allowed
    assert judge.judge("ls").denied
