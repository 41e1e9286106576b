"""The secrets of the installation itself; output hides them like the secrets that plans name."""

from urllib.parse import unquote, urlsplit

from shared.domain.errors import Misconfigured
from shared.secrets.known import refuse_what_cannot_be_hidden
from shared.secrets.value import Secret
from shared.settings import ServerSettings
from shared.settings.keys import KEYS


def own_secrets(settings: ServerSettings) -> tuple[Secret, ...]:
    """The keys of the models and the passwords in the database and broker addresses.

    A value that cannot be hidden (because it is short, or a word that masks use) is left out: no
    plan names it, and a development database may well have such a password.
    """
    given = {
        **{name.upper(): getattr(settings, key.field) for name, key in KEYS.items() if key.secret},
        "REPLAN_DATABASE_PASSWORD": _password(settings.database),
        "REPLAN_BROKER_PASSWORD": _password(settings.broker),
    }
    secrets = (Secret(name, value) for name, value in given.items() if value)
    return tuple(secret for secret in secrets if _can_be_hidden(secret))


def _password(address: str | None) -> str | None:
    try:
        password = urlsplit(address or "").password
    except ValueError:
        return None
    return unquote(password) if password else None


def _can_be_hidden(secret: Secret) -> bool:
    try:
        refuse_what_cannot_be_hidden([secret])
    except Misconfigured:
        return False
    return True
