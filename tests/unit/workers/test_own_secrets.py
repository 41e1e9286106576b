"""The secrets of the installation itself are hidden too."""

import base64
from pathlib import Path

from shared.secrets.installation import own_secrets
from shared.secrets.masking import Masker
from shared.settings import ServerSettings


def test_keys_and_passwords_of_addresses_are_hidden() -> None:
    settings = ServerSettings(
        database="postgresql://me:p%40ss-of-db@db/replan",
        broker="redis://:broker-pass@cache/0",
        anthropic_api_key="sk-made-up-key",
        anthropic_auth_token="made-up-token",
    )
    masker = Masker(own_secrets(settings))
    told = masker.text("p@ss-of-db p%40ss-of-db broker-pass sk-made-up-key made-up-token")
    assert told == (
        "‹secret:REPLAN_DATABASE_PASSWORD› ‹secret:REPLAN_DATABASE_PASSWORD› "
        "‹secret:REPLAN_BROKER_PASSWORD› ‹secret:ANTHROPIC_API_KEY› ‹secret:ANTHROPIC_AUTH_TOKEN›"
    )


def test_what_cannot_be_hidden_is_no_reason_not_to_start() -> None:
    settings = ServerSettings(database="postgresql://me:me@db/x", broker="redis://[broken")
    assert own_secrets(settings) == ()


def test_keys_in_the_data_folder_are_hidden(tmp_path: Path) -> None:
    """Each line of the key that signs approvals, and its base64."""
    line = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZWQ"
    key = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{line}\n-----END OPENSSH PRIVATE KEY-----\n"
    (tmp_path / "approval-key").write_text(key)
    masker = Masker(own_secrets(ServerSettings(data_dir=tmp_path)))
    for told in (f"it is {line}", base64.b64encode(key.encode()).decode()):
        assert "‹secret:REPLAN_APPROVAL_KEY›" in masker.text(told)
