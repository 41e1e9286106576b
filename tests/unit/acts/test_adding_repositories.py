"""What a repository can be called and told; refused before anything is asked."""

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.access.actor import account
from orchestrator.acts import repositories
from orchestrator.acts.caller import Caller
from orchestrator.acts.remotes import forge_of
from orchestrator.acts.trust import trust_rules
from shared.domain.delivery import Trust
from shared.domain.errors import Rejected
from shared.domain.target import Forge, ForgeKind, Repository, TrustRule
from shared.settings import load_settings

USUAL: dict[str, Any] = {"name": "app", "host": "web1", "path": "/srv/app"}

FORGE = Forge(ForgeKind.GITLAB, "https://git.example.com/api/v4", "group/app", "main", "TOKEN")
PUSHED = {"remote": "git@git.example.com:group/app.git"}


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
        ({"trust": (TrustRule("!docs/", Trust.CHECKS),)}, "the strictest counts"),
        ({"trust": (TrustRule("# docs", Trust.PERSON),)}, "not a valid pattern of files"),
        ({"forbidden_paths": ("",)}, "not a valid pattern of files"),
        ({"forbidden_paths": ("a\nb",)}, "not a valid pattern of files"),
        ({"forbidden_paths": ("a\\",)}, "not a valid pattern of files"),
        ({"forbidden_paths": ("[",)}, "not a valid pattern of files"),
        ({"reviewers": ("codeks",)}, "did you mean 'codex'"),
        ({"reviewers": ("command",)}, "not started by its name alone"),
        ({"remote": "x"}, "not a valid URL"),
        ({"remote": "ext::sh -c id"}, "not a valid URL"),
        ({"remote": "https://me:pw@example.com/x.git"}, "holds a password"),
        ({"remote": "/srv/a\nb"}, "not a valid path"),
        ({"forge": FORGE}, "needs the branch to be there"),
        ({**PUSHED, "forge": replace(FORGE, project="app")}, "write owner/name"),
        ({**PUSHED, "forge": replace(FORGE, project="a/../b")}, "write owner/name"),
        ({**PUSHED, "forge": replace(FORGE, into="-x")}, "name of a branch"),
        ({**PUSHED, "forge": replace(FORGE, token="ghp token")}, "not a valid name of a secret"),
        ({**PUSHED, "forge": replace(FORGE, api="example.com")}, "not a valid address"),
        ({**PUSHED, "forge": replace(FORGE, api="http://example.com")}, "is not encrypted"),
        ({**PUSHED, "forge": replace(FORGE, api="https://t@example.com")}, "holds a name or a tok"),
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


@pytest.mark.parametrize("said", ["migrations/", "=person", "docs/=nobody", "docs/=Person"])
def test_what_is_not_a_rule_of_trust_is_refused(said: str) -> None:
    with pytest.raises(Rejected, match="PATTERN=checks, PATTERN=review, PATTERN=person"):
        trust_rules([said])


def test_a_rule_of_trust_is_a_pattern_and_who_may_accept() -> None:
    assert trust_rules(["migrations/=person", "a=b.sql=review"]) == (
        TrustRule("migrations/", Trust.PERSON),
        TrustRule("a=b.sql", Trust.REVIEW),
    )


WHOLE: dict[str, Any] = {"project": "o/app", "token": "TOKEN", "into": "main", "api": None}


@pytest.mark.parametrize(
    ("kind", "said", "told"),
    [
        (None, {"project": None, "token": None}, "--merge-into is about a forge"),
        (ForgeKind.GITHUB, {"token": None, "into": None}, "--forge-token-secret, --merge-into"),
        (ForgeKind.GITEA, {}, "needs --forge-api"),
    ],
)
def test_a_part_of_a_forge_is_none(kind: ForgeKind | None, said: dict[str, Any], told: str) -> None:
    with pytest.raises(Rejected, match=told):
        forge_of(kind, **(WHOLE | said))


def test_a_forge_that_everybody_shares_needs_no_address() -> None:
    found = forge_of(ForgeKind.GITHUB, **WHOLE)
    assert found == Forge(ForgeKind.GITHUB, "https://api.github.com", "o/app", "main", "TOKEN")
    assert forge_of(None, project=None, token=None, into=None, api=None) is None
