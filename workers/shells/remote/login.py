"""Logs in with the host's key file and named secrets, and with nothing else."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm

from shared.domain.errors import Misconfigured
from shared.domain.host import Host
from workers.shells.remote.errors import copy_key_command, misconfigured, transient
from workers.shells.remote.foreign_errors import translate
from workers.shells.remote.host_secrets import Reveal, reveal_secret
from workers.shells.remote.hostkeys import HostKey


@dataclass(frozen=True, slots=True)
class Login:
    """Who logs in, and with what."""

    user: str
    key: paramiko.PKey | None
    password: str | None = field(repr=False)


def login_of(host: Host, reveal: Reveal) -> Login:
    """The login in the host's entry, with its secrets.

    Raises Misconfigured when the entry is incomplete, a key is not usable, or a secret is missing.
    """
    if not host.user:
        raise misconfigured(host, "no user is set to log in as", stage="authenticate")
    if not host.key_path and not host.password:
        raise misconfigured(host, "no key file is set to log in with", stage="authenticate")
    password = reveal_secret(host, host.password, reveal)
    if not host.key_path:
        return Login(host.user, None, password)
    passphrase = reveal_secret(host, host.passphrase, reveal)
    key = load_key(Path(host.key_path).expanduser(), host, passphrase)
    return Login(host.user, key, password)


def load_key(path: Path, host: Host, passphrase: str | None = None) -> paramiko.PKey:
    """Read a private key file; raises Misconfigured when it is missing, locked or not a key."""
    try:
        # Its annotation says str, but the function that it calls takes only bytes.
        secret: Any = None if passphrase is None else passphrase.encode()
        return paramiko.PKey.from_path(path, secret)
    except FileNotFoundError:
        reason = f"the key file {path} does not exist on the worker's machine"
    except OSError as error:
        reason = f"the key file {path} cannot be read: {error.strerror}"
    except (paramiko.PasswordRequiredException, TypeError):
        reason = f"the key file {path} is protected by a passphrase, which a worker cannot type: "
        reason += "name the secret that holds it (--passphrase)"
        if passphrase is not None:
            reason = f"the key file {path} has no passphrase, but a secret is named for one"
    except (paramiko.SSHException, paramiko.pkey.UnknownKeyType, ValueError, UnsupportedAlgorithm):
        locked = " with the passphrase that is named for it" if passphrase else ""
        reason = f"the file {path} is not a usable private key{locked}"
    raise misconfigured(host, reason, stage="authenticate")


def log_in(transport: paramiko.Transport, host: Host, login: Login) -> None:
    """Log in with the key, then with the password if the host requires one or there is no key.

    Raises Transient when the connection is lost meanwhile, Misconfigured when the host refuses us.
    """
    wanted: list[str] = []
    if login.key is not None:
        key = login.key
        wanted = _authenticate(
            transport, host, login, lambda: transport.auth_publickey(login.user, key)
        )
    if login.password is not None and (login.key is None or "password" in wanted):
        word = login.password
        wanted = _authenticate(
            transport, host, login, lambda: transport.auth_password(login.user, word)
        )
    if wanted:
        raise misconfigured(
            host, f"the host requires more than a key ({', '.join(wanted)})", stage="authenticate"
        )


def _authenticate(
    transport: paramiko.Transport, host: Host, login: Login, attempt: Callable[[], list[str]]
) -> list[str]:
    """Try one method; return the methods that the host requires in addition."""
    try:
        return attempt()
    except paramiko.AuthenticationException as error:
        if type(error) is paramiko.AuthenticationException and _was_lost(transport, error):
            sentence = "the connection was lost while logging in"
            raise transient(host, sentence, stage="authenticate") from error
        raise _refusal(host, login, error) from error
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise translate(error, host, stage="authenticate") from error


def _was_lost(transport: paramiko.Transport, error: paramiko.AuthenticationException) -> bool:
    return "timeout" in str(error) or not transport.is_active()


def _refusal(host: Host, login: Login, error: paramiko.AuthenticationException) -> Misconfigured:
    if login.key is None:
        sentence = f"the host refused the password {host.password}"
        return misconfigured(host, sentence, stage="authenticate")
    translation = translate(error, host, stage="authenticate")
    public = HostKey(login.key.get_name(), login.key.asbytes())
    return Misconfigured(
        f"{translation.reason}: {public} from {host.key_path}",
        stage="authenticate",
        next_step=copy_key_command(host),
    )
