"""The secrets of the installation itself are hidden too."""

from shared.secrets.masking import Masker
from shared.settings import ServerSettings
from workers.installation_secrets import own_secrets


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
