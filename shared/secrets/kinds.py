"""The kinds of secret that are recognised by their form."""

from enum import StrEnum


class SecretKind(StrEnum):
    """What a mask says about a secret that no vault knows."""

    PRIVATE_KEY = "private-key"
    HEADER = "header"
    PASSWORD = "password"  # noqa: S105 - a kind
    TOKEN = "token"  # noqa: S105 - a kind
    HASH = "password-hash"
