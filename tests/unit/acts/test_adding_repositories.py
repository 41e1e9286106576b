"""What a repository can be called and told; refused before anything is asked."""

from typing import Any

import pytest

from orchestrator.access.actor import account
from orchestrator.acts import repositories
from orchestrator.acts.caller import Caller
from shared.domain.errors import Rejected
from shared.domain.target import Repository
from shared.settings import load_settings

USUAL: dict[str, Any] = {"name": "app", "host": "web1", "path": "/srv/app"}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"name": "a b"}, "not a valid name"),
        ({"name": "a" * 65}, "not a valid name"),
        ({"path": None}, "either a path or a URL"),
        ({"url": "https://example.com/x"}, "either a path or a URL"),
        ({"path": "x"}, "not a path from the root"),
        ({"path": None, "url": "ext::sh -c id"}, "not a valid URL"),
        ({"path": None, "url": "--upload-pack=id"}, "not a valid URL"),
        ({"path": None, "url": "https://me:pw@example.com/x.git"}, "holds a password"),
        ({"path": None, "url": "https://ghp_token@example.com/x.git"}, "holds a password or a tok"),
        ({"path": None, "url": "http://@example.com/x.git"}, "holds a password or a token"),
        ({"path": None, "url": "ssh://git:pw@example.com/x.git"}, "holds a password or a token"),
        ({"path": None, "url": "https://[x"}, "not a valid URL"),
        ({"branch": "-x"}, "name of a branch"),
        ({"branch": "a..b"}, "name of a branch"),
        ({"copied": ("../.env",)}, "pattern of ignored files"),
        ({"copied": (".git/config",)}, "pattern of ignored files"),
        ({"copied": ("/etc/shadow",)}, "pattern of ignored files"),
        ({"labels": ("a b",)}, "not a valid label"),
        ({"runners": ("codeks",)}, "did you mean 'codex'"),
        ({"setup": " "}, "is empty"),
        ({"setup": "rm -rf /"}, "is forbidden"),
        ({"checks": ("rm -rf /",)}, "is forbidden"),
        ({"setup": "echo '${secret:X}'"}, "single quotes"),
    ],
)
def test_what_cannot_be_meant_is_refused(said: dict[str, Any], told: str) -> None:
    caller = Caller(account(), load_settings({"REPLAN_CONFIG": ""}))
    with pytest.raises(Rejected, match=told) as refused:
        repositories.add(caller, Repository(**(USUAL | said)))
    assert refused.value.next_step is not None
