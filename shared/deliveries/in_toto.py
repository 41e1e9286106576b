"""In-toto statements with the predicate test-result, in envelopes that anybody can verify.

The statement is v1 of <https://in-toto.io/Statement/v1>, the envelope is DSSE, the signature
Ed25519.
"""

import hashlib
import json
from collections.abc import Sequence
from copy import deepcopy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # slow to load, and few commands sign
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

STATEMENT: Final = "https://in-toto.io/Statement/v1"
TEST_RESULT: Final = "https://in-toto.io/attestation/test-result/v0.1"
PAYLOAD: Final = "application/vnd.in-toto+json"


class NotAnEnvelopeError(ValueError):
    """What was read is not a DSSE envelope."""


class WrongSignatureError(ValueError):
    """No known key has signed it, or it was changed afterwards."""


class NotATestResultError(ValueError):
    """What was signed is not such a statement."""


def statement(subject: Sequence[dict[str, Any]], predicate: dict[str, Any]) -> dict[str, Any]:
    """The statement that the subjects have these results."""
    return {
        "_type": STATEMENT,
        "subject": list(subject),
        "predicateType": TEST_RESULT,
        "predicate": predicate,
    }


def seal(content: dict[str, Any], key: "Ed25519PrivateKey") -> dict[str, Any]:
    """The signed envelope with that statement."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner

    envelope = Envelope(canonical(content), PAYLOAD, {})
    envelope.sign(CryptoSigner(key))
    sealed: dict[str, Any] = envelope.to_dict()
    return sealed


def unseal(sealed: Any, keys: Sequence["Ed25519PublicKey"]) -> dict[str, Any]:
    """The statement in an envelope that one of the keys has signed.

    Raises NotAnEnvelopeError, WrongSignatureError or NotATestResultError.
    """
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error
    from securesystemslib.signer import SSlibKey

    try:
        envelope = Envelope.from_dict(deepcopy(sealed))  # it changes what it reads
    except (ValueError, TypeError, KeyError, AttributeError, Error) as error:
        raise NotAnEnvelopeError from error
    try:
        envelope.verify([SSlibKey.from_crypto(key) for key in keys], 1)
    except (ValueError, Error) as error:  # a ValueError where there is no key
        raise WrongSignatureError from error
    try:
        content = json.loads(envelope.payload)
        known = (content["_type"], content["predicateType"]) == (STATEMENT, TEST_RESULT)
    except (ValueError, TypeError, KeyError) as error:
        raise NotATestResultError from error
    if not known or envelope.payload_type != PAYLOAD:
        raise NotATestResultError
    read: dict[str, Any] = content
    return read


def canonical(content: object) -> bytes:
    """The JSON of a value: the same bytes for the same value."""
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")


def digest(content: object) -> str:
    """The SHA-256 of that JSON, in hexadecimal."""
    return hashlib.sha256(canonical(content)).hexdigest()


def moment(at: datetime) -> str:
    """A time as RFC 3339 has it, in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
