"""Public host keys: read from the inventory, shown to people, pinned on connections."""

import base64
import binascii
from dataclasses import dataclass

from shared.domain.errors import Misconfigured
from shared.domain.host import Host, fingerprint_of
from workers.shells.remote.errors import misconfigured, place, replace_key_command

_LENGTH_BYTES = 4
_RSA_ALGORITHMS = ("rsa-sha2-512", "rsa-sha2-256")


@dataclass(frozen=True, slots=True)
class HostKey:
    """A host's public key: its type (`ssh-ed25519`), and its bytes as SSH sends them."""

    key_type: str
    blob: bytes

    @property
    def base64(self) -> str:
        """The bytes as a known_hosts file writes them."""
        return base64.b64encode(self.blob).decode()

    @property
    def fingerprint(self) -> str:
        """The fingerprint as `ssh-keygen -l` prints it: `SHA256:…`."""
        return fingerprint_of(self.blob)

    @property
    def line(self) -> str:
        """The text in `Host.host_key`: type and base64."""
        return f"{self.key_type} {self.base64}"

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The signature algorithms with which a host may prove this key."""
        return _RSA_ALGORITHMS if self.key_type == "ssh-rsa" else (self.key_type,)

    def __str__(self) -> str:
        return f"{self.key_type} {self.fingerprint}"


class WrongHostKey(Misconfigured):
    """The `host` of that name has shown a different key from the enrolled one."""

    def __init__(self, host: Host, sentence: str) -> None:
        super().__init__(
            f"{place(host)}: {sentence}",
            stage="host_key",
            next_step=replace_key_command(host),
        )
        self.host = host.name


def parse_host_key(text: str) -> HostKey:
    """Read `type base64 [comment]`; raises ValueError if it is not a valid public key."""
    key_type, _, rest = text.strip().partition(" ")
    if not rest:
        raise ValueError("a host key looks like 'ssh-ed25519 AAAA…'")
    try:
        blob = base64.b64decode(rest.split()[0], validate=True)
    except binascii.Error:
        raise ValueError("the second word of a host key must be base64") from None
    if _type_of(blob) != key_type:
        raise ValueError(f"the key's bytes are not those of a {key_type} key")
    return HostKey(key_type, blob)


def pinned_key(host: Host) -> HostKey:
    """The enrolled key of the host; raises Misconfigured if it is missing or not valid."""
    command = replace_key_command(host)
    if not host.host_key:
        raise misconfigured(
            host,
            "its host key is not known, and an unknown host is never trusted",
            stage="host_key",
            next_step=command,
        )
    try:
        return parse_host_key(host.host_key)
    except ValueError as error:
        raise misconfigured(
            host,
            f"its enrolled host key cannot be read: {error}",
            stage="host_key",
            next_step=command,
        ) from None


def _type_of(blob: bytes) -> str:
    length = int.from_bytes(blob[:_LENGTH_BYTES], "big")
    return blob[_LENGTH_BYTES : _LENGTH_BYTES + length].decode("ascii", "replace")
