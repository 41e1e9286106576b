"""Where the value of a secret may stand in a command (X19)."""

from pathlib import Path

import pytest

from shared.domain.errors import Misconfigured
from shared.guard import Guard, load_site, only_forbidden

GUARD = Guard(load_site(None).for_host())
OPEN = Guard(only_forbidden([]))
S = '"${REPLAN_SECRET_DB}"'
ALLOWED = [
    f"PGPASSWORD={S} psql -c 'select 1'",
    f"PGPASSWORD={S} timeout 5 psql -c 'select 1'",
    f"printf '%s' {S} | docker login -u ann --password-stdin ghcr.io",
    f"echo {S} | podman login -u ann --password-stdin quay.io",
    f"cat <<E | htpasswd -i -B /srv/app/users ann\n{S}\nE",
    "htpasswd -i -B /srv/app/users ann <<E\n$REPLAN_SECRET_DB\nE",
    f"x={S}; printf '%s' \"$x\" | htpasswd -i -B /srv/app/users ann",
    f"printf '%s' {S} | htpasswd -i -B /srv/app/users ann > /dev/null",
]  # fmt: skip
DENIED = [
    f"ls {S}",
    f"curl -s http://localhost/ -H {S}",
    'curl -s -H "Authorization: Bearer ${REPLAN_SECRET_DB}" http://localhost/',
    f'x={S}; ls "$x"',
    f"env PGPASSWORD={S} psql -l",
    f"sudo PGPASSWORD={S} psql -l",
    "ls ${REPLAN_SECRET_DB#a}",
    'ls "${REPLAN_SECRET_DB:-x}"',
    f"ls \"$(printf '%s' {S})\"",
    f'ls "$(echo {S})"',
    "sh -c 'ls \"$REPLAN_SECRET_DB\"'",
    f'f() {{ ls "$1"; }}; f {S}',
    f'for i in {S}; do ls "$i"; done',
    f"printf '%s' {S} | xargs ls",
    f"/bin/echo {S} | wc -c",
    f"printf '%s' {S} > /tmp/x",
    f"echo {S} >> notes.txt",
    f"printf '%s' {S} | tee /tmp/x",
    f"printf '%s' {S} | cat > /tmp/x",
    f"cat <<E > /tmp/x\n{S}\nE",
    f"cat <<< {S} > /tmp/x",
]  # fmt: skip
ASKS = [
    f"echo {S}",
    f"printf '%s\\n' {S}",
    f"[ -n {S} ]",
    f"export PGPASSWORD={S}; ls",
    f"ls \"$(printf '%s' {S} | sha256sum)\"",
    f"LD_PRELOAD={S} ls",
    S,
    f"TOKEN={S} ls",
    f"printf '%s' {S} | wc -c",
    f"echo {S} | grep -q x",
    f"cat <<E | wc -l\n{S}\nE",
    "wc -c <<E\npassword=$REPLAN_SECRET_DB\nE",
    f"x={S}; printf '%s' \"$x\" | wc -c",
    f"printf '%s' {S} | wc -c > /dev/null",
]  # fmt: skip


@pytest.mark.parametrize("command", ALLOWED)
def test_a_secret_may_be_handed_over_where_nobody_sees_it(command: str) -> None:
    """In the variable or on the standard input of a program that consumes it."""
    assert GUARD.judge(command, "bash").allowed, GUARD.judge(command, "bash")


@pytest.mark.parametrize("guard", [GUARD, OPEN], ids=["default", "open"])
@pytest.mark.parametrize("command", DENIED)
def test_a_secret_in_an_argument_or_a_file_is_denied(guard: Guard, command: str) -> None:
    """Under every policy, with what to write instead, and without the variable's name."""
    verdict = guard.judge(command, "bash")
    assert verdict.denied, verdict
    assert verdict.rule in ("secret-in-arguments", "secret-in-file")
    assert "${secret:DB}" in verdict.reason
    assert "printf" in verdict.reason


@pytest.mark.parametrize("command", ASKS)
def test_a_secret_elsewhere_asks(command: str) -> None:
    """What may show it is for a person to decide."""
    assert not GUARD.judge(command, "bash").allowed


def test_other_variables_are_no_secrets() -> None:
    """Only the names that the worker sets."""
    assert OPEN.judge('ls "$REPLAN_OTHER" "$SECRET_DB"').allowed


SITE = """
allow:
  - reason: our own deployment takes its password from a variable
    rules:
      - {run: deploy, operands: "name", consumes: [DEPLOY_*, input]}
      - {run: show, operands: "name"}
"""


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        (f"DEPLOY_PASSWORD={S} deploy app", True),
        (f"PASSWORD={S} deploy app", False),
        (f"printf '%s' {S} | deploy app", True),
        (f"printf '%s' {S} | deploy app --more", False),
        (f"printf '%s' {S} | show app", False),
        (f"DEPLOY_PASSWORD={S} show app", False),
        ("deploy app; show app", True),
    ],
)
def test_a_site_says_what_its_programs_consume(
    command: str,
    allowed: bool,
    tmp_path: Path,
) -> None:
    """A rule that lists a program does not let it have a secret; `consumes` does."""
    path = tmp_path / "policy.yaml"
    path.write_text(SITE)
    verdict = Guard(load_site(path).for_host()).judge(command)
    assert verdict.allowed is allowed, verdict


def test_what_a_program_consumes_is_input_or_a_variable(tmp_path: Path) -> None:
    """Anything else is a mistake in the file."""
    path = tmp_path / "policy.yaml"
    path.write_text(SITE.replace("DEPLOY_*", "a-file"))
    with pytest.raises(Misconfigured, match="neither `input` nor the name of a variable"):
        load_site(path)


@pytest.mark.parametrize("command", [f"printf '%s' {S} | rev", f"TOKEN={S} ls"])
def test_where_everything_is_allowed_a_secret_still_goes_only_to_consumers(command: str) -> None:
    """Otherwise `unlisted: allow` would print it in a form that cannot be masked."""
    assert not OPEN.judge(command).allowed
    assert OPEN.judge(f"PGPASSWORD={S} psql -c 'select 1'").allowed
