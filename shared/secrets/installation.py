"""The secrets of the installation itself; output hides them like the secrets that plans name."""

from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from shared.domain.errors import Misconfigured
from shared.secrets.known import refuse_what_cannot_be_hidden
from shared.secrets.value import Secret
from shared.settings import ServerSettings
from shared.settings.connection import ConnectionFile
from shared.settings.keys import KEYS

_KEY_FILES = ("approval-key", "gateway-key", "attestation-key")


def own_secrets(settings: ServerSettings) -> tuple[Secret, ...]:
    """The keys of the models, the passwords of database and broker, and keys in the data folder.

    A value that cannot be hidden (because it is short, or a word that masks use) is left out: no
    plan names it, and a development database may well have such a password.
    """
    given = {
        **{name.upper(): getattr(settings, key.field) for name, key in KEYS.items() if key.secret},
        "REPLAN_DATABASE_PASSWORD": _password(settings.database),
        "REPLAN_BROKER_PASSWORD": _password(settings.broker),
        **_stored(settings.data_dir),
    }
    secrets = (Secret(name, value) for name, value in given.items() if value)
    return tuple(secret for secret in secrets if _can_be_hidden(secret))


def _stored(folder: Path) -> dict[str, str | None]:
    """What lies in the data folder, as far as this account can read it."""
    found = {_name_of(file): _text_of(folder / file) for file in _KEY_FILES}
    with suppress(Misconfigured):
        if connection := ConnectionFile.read(folder):
            found["REPLAN_DATABASE_PASSWORD_HERE"] = _password(connection.database_url)
            found["REPLAN_BROKER_PASSWORD_HERE"] = _password(connection.broker_url)
    return found


def _name_of(file: str) -> str:
    return f"REPLAN_{file.upper().replace('-', '_')}"


def _text_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None


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
