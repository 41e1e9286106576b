"""Rules of style `exact`: these words, in this directory, without input; and tests beside rules."""

from pathlib import Path

import pytest

from shared.domain.errors import Misconfigured
from shared.guard import Guard, load_site

SITE = """
allow:
  - reason: the web server is told to read its files again
    rules:
      - {run: webctl graceful, style: exact, directory: .}
      - {run: appctl, style: exact, operands: "'-f' 'it''s here' number", directory: .}
      - {run: appctl purge, style: exact, operands: "below:/srv/app/releases",
         directory: [., /srv/app]}
      - {run: appctl home, style: exact, operands: "'~/x y'|'b'", directory: .}
    allow: [webctl graceful]
    approve: [webctl stop]
"""


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Guard:
    """A guard with exact rules."""
    path = tmp_path_factory.mktemp("policy") / "policy.yaml"
    path.write_text(SITE)
    return Guard(load_site(path).for_host())


@pytest.mark.parametrize(
    "command",
    [
        "webctl graceful",
        "sudo /usr/sbin/webctl graceful",
        "webctl graceful | grep -c ok",
        "webctl graceful > /tmp/out.txt",
        'appctl -f "it\'s here" 7',
        "appctl purge /srv/app/releases/12",
        "cd /srv/app && appctl purge releases/12",
        "appctl home ~/'x y'",
        "appctl home b",
    ],
)
def test_the_very_words_are_allowed(guard: Guard, command: str) -> None:
    """However they are quoted, and whatever reads the output."""
    assert guard.judge(command).allowed, guard.judge(command)


@pytest.mark.parametrize(
    "command",
    [
        "webctl",
        "webctl -k graceful",
        "webctl graceful -f /tmp/x",
        "webctl stop",
        "cd /srv/app && webctl graceful",
        "cd $X && webctl graceful",
        "echo stop | webctl graceful",
        "webctl graceful < /tmp/x.txt",
        "webctl graceful <<< stop",
        "webctl graceful << E\nstop\nE",
        "echo stop | { x=$(webctl graceful); }",
        "exec < /tmp/x.txt; webctl graceful",
        "echo graceful | xargs webctl",
        "while read -r x; do webctl graceful; done < /tmp/x.txt",
        "appctl 'it'\"'\"'s here' -f 7",
        'appctl -f "it\'s here" -7',
        'appctl -f "it\'s here" $N',
        'appctl -f "it\'s here" *',
        "appctl -f 'it here' 7",
        "appctl purge /srv/app/releases",
        "appctl purge /srv/app/releases/../../web",
        "appctl purge /srv/app/releases/.ssh/x",
        "appctl purge /srv/app/releases/key.pem",
        "appctl purge releases/12",
        "appctl purge /srv/app/releases/$X",
        "appctl home '~/x y'",
        "appctl home c",
    ],
)
def test_anything_else_asks(guard: Guard, command: str) -> None:
    """Another word, another order, another directory, or something on the input."""
    assert not guard.judge(command).allowed


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("{run: x, style: exact}", "names its `directory`"),
        ("{run: x, directory: .}", "`style: exact`"),
        ("{run: x, style: exact, directory: ., flags: -a}", "among the `operands`"),
        ("{run: x, style: exact, directory: ., operands: 'name*'}", "stands once"),
        ('{run: x, style: exact, directory: ., operands: "below:/"}', "not a kind"),
        ('{run: x, style: exact, directory: ., operands: "below:srv"}', "not a kind"),
    ],
)
def test_a_rule_that_says_two_things_is_refused(tmp_path: Path, rule: str, told: str) -> None:
    """The error names the key."""
    path = tmp_path / "policy.yaml"
    path.write_text(f"allow: [{{reason: some reason, rules: [{rule}]}}]")
    with pytest.raises(Misconfigured, match=told):
        load_site(path)


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_a_policy_that_fails_a_test_beside_its_rules_is_refused(
    tmp_path: Path, verdict: str
) -> None:
    """As with the checks of the whole file."""
    path = tmp_path / "policy.yaml"
    tested = SITE.replace("    approve: [webctl stop]\n", "")
    path.write_text(tested.replace("allow: [webctl graceful]", f"{verdict}: [webctl graceful]"))
    with pytest.raises(Misconfigured, match="'webctl graceful' has to be"):
        Guard(load_site(path).for_host())
