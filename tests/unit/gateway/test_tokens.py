"""The token of an attempt, and the key from which it is derived."""

from dataclasses import replace
from pathlib import Path

import pytest

from shared.domain.errors import Misconfigured
from shared.secrets.masking import Masker
from shared.settings import ServerSettings
from workers.attempt_token import AttemptGrant, attempt_token, read_attempt_token
from workers.installation_key import GATEWAY_KEY, installation_key

KEY = b"k" * 32
ATTEMPT = "R12-3-r1-2-p4-t0"


def test_a_token_says_its_attempt() -> None:
    token = attempt_token(KEY, ATTEMPT)
    assert token == attempt_token(KEY, ATTEMPT), "whoever drives it on"
    assert read_attempt_token(KEY, token) == AttemptGrant(ATTEMPT)


def test_a_token_that_was_changed_or_made_elsewhere_says_nothing() -> None:
    token = attempt_token(KEY, ATTEMPT)
    changed = [
        token.replace("p4", "p5"),
        token[:-1] + ("0" if token[-1] != "0" else "1"),
        token.upper(),
        f" {token}",
        f"{token}\n",
        "",
        "rpat__",
    ]
    assert [read_attempt_token(KEY, each) for each in changed] == [None] * len(changed)
    assert read_attempt_token(b"o" * 32, token) is None


def test_a_token_is_masked_by_its_form() -> None:
    said = f"ANTHROPIC_API_KEY={attempt_token(KEY, ATTEMPT)}\n"
    assert "rpat_" not in Masker().text(said)


def test_the_first_to_ask_makes_the_key_and_others_find_it(tmp_path: Path) -> None:
    server = ServerSettings(data_dir=tmp_path / "data")
    made = installation_key(server)
    assert installation_key(server) == made
    assert len(made) == 64
    assert (tmp_path / "data" / GATEWAY_KEY).stat().st_mode & 0o777 == 0o600


def test_a_key_that_others_can_read_or_guess_is_refused(tmp_path: Path) -> None:
    server = ServerSettings(data_dir=tmp_path)
    installation_key(server)
    (tmp_path / GATEWAY_KEY).chmod(0o644)
    with pytest.raises(Misconfigured, match="readable by nobody else"):
        installation_key(server)
    with pytest.raises(Misconfigured, match="could be guessed"):
        installation_key(replace(server, replan_gateway_key="short"))
    assert installation_key(replace(server, replan_gateway_key="x" * 32)) == b"x" * 32
