"""Bundles in a bucket of S3, or of what speaks its protocol (S2.77), through obstore.

The library reads the credentials, the region and the endpoint from the AWS variables of the
environment; nothing here sees the credentials.
"""

import os
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import takewhile
from types import ModuleType
from typing import Any, Final

from shared.deliveries.backend import SHA256, STAGE, attestation_key, key
from shared.domain.errors import Defect, Misconfigured, ReplanError, Unavailable
from shared.domain.next_step import NextStep, ShellCommand
from shared.domain.patch_store import LARGEST_BUNDLE, LEAST_AGE, Entry

_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")

_CREDENTIALS: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
)

_RENEWED_AFTER: Final = LEAST_AGE / 2
"""Seconds after which what is stored again is written again, so that it counts as new."""

_CONNECT: Final = timedelta(seconds=5)
_SILENCE: Final = timedelta(seconds=60)
_REQUEST: Final = timedelta(minutes=10)
_PATIENCE: Final = timedelta(seconds=60)
_RETRIES: Final = 5
_PAGE: Final = 1000
_LONGEST_REASON: Final = 600

_NO_BUCKET: Final = "<Code>NoSuchBucket</Code>"
"""How the protocol says it: the library has the same error for a missing object."""

ERRORS: Final[Mapping[str, type[Misconfigured | Unavailable | Defect]]] = {
    "GenericError": Unavailable,
    "JoinError": Unavailable,
    "PermissionDeniedError": Misconfigured,
    "UnauthenticatedError": Misconfigured,
    "InvalidPathError": Misconfigured,
    "NotSupportedError": Misconfigured,
    "UnknownConfigurationKeyError": Misconfigured,
    "AlreadyExistsError": Defect,  # the following are answered where they come up
    "NotFoundError": Defect,
    "NotModifiedError": Defect,
    "PreconditionError": Defect,
}
"""Each error of the library, and what it is for us."""


class Bucket:
    """The backend in a bucket, below a prefix.

    Between looking how old a bundle is and removing it, a round trip passes: one of more than the
    least age that is stored again in that moment is lost. A folder excludes that by a lock.
    """

    def __init__(self, bucket: str, prefix: str, environ: Mapping[str, str] = os.environ) -> None:
        self._place = "/".join(part for part in (f"s3://{bucket}", prefix) if part)
        self._has_credentials = any(environ.get(name) for name in _CREDENTIALS)
        self._library = _library()
        with self._translated():
            self._store = _open(self._library, bucket, prefix, environ)

    def uri(self, sha256: str) -> str:
        """Its object as an address."""
        return f"{self._place}/{key(sha256)}"

    def create(self, sha256: str, data: bytes) -> bytes | None:
        """See `Backend`."""
        with self._translated():
            try:
                self._library.put(self._store, key(sha256), data, mode="create")
            except self._library.exceptions.AlreadyExistsError:
                return self._renew(sha256, data)
        return None

    def attest(self, tree: str, sha256: str, data: bytes) -> str:
        """See `Backend`."""
        name = attestation_key(tree, sha256)
        with self._translated(), suppress(self._library.exceptions.AlreadyExistsError):
            self._library.put(self._store, name, data, mode="create")
        return f"{self._place}/{name}"

    def read(self, sha256: str) -> bytes | None:
        """See `Backend`."""
        with self._translated():
            try:
                found = self._library.get(self._store, key(sha256))
            except FileNotFoundError as error:
                if _NO_BUCKET in str(error):
                    raise
                return None
            return bytes(found.bytes()) if found.meta["size"] <= LARGEST_BUNDLE else b""

    def entries(self) -> Iterator[Entry]:
        """See `Backend`."""
        with self._translated():
            for page in self._library.list(self._store, "sha256", chunk_size=_PAGE):
                yield from filter(None, map(_entry, page))

    def remove(self, sha256: str, before: float) -> bool:
        """See `Backend`."""
        with self._translated():
            try:
                if self._stored_at(sha256) >= before:
                    return False
            except FileNotFoundError:
                return False
            self._library.delete(self._store, [key(sha256)])
            return True

    def leftovers(self, before: float, *, remove: bool) -> int:  # noqa: ARG002 - of the port
        """None: a bundle is one request, which the other side carries out or does not."""
        return 0

    def _renew(self, sha256: str, data: bytes) -> bytes:
        """The bytes that are there; they count as new from now on."""
        found = self.read(sha256)
        if found is not None:
            good = found == data
            if not good or self._stored_at(sha256) > time.time() - _RENEWED_AFTER:
                return found
        self._library.put(self._store, key(sha256), data, use_multipart=False)
        return data

    def _stored_at(self, sha256: str) -> float:
        modified = self._library.head(self._store, key(sha256))["last_modified"]
        return float(modified.timestamp())

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise self._no_bucket() from error
        except (self._library.exceptions.BaseError, ValueError) as error:
            raise self._error(error) from error

    def _error(self, error: Exception) -> ReplanError:
        if _NO_BUCKET in str(error):
            return self._no_bucket()
        kind = ERRORS.get(type(error).__name__, Misconfigured)
        hint = "" if self._has_credentials else "; AWS_ACCESS_KEY_ID is not set"
        reason = f"the store of deliveries in {self._place} cannot be used: {_shortened(error)}"
        return kind(
            f"{reason}{hint}", stage=STAGE, next_step=NextStep.of("config show", "delivery_store")
        )

    def _no_bucket(self) -> Misconfigured:
        return Misconfigured(
            f"the store of deliveries in {self._place} cannot be used: there is no such bucket",
            stage=STAGE,
            next_step=NextStep.of("config show", "delivery_store"),
        )


def _library() -> ModuleType:
    try:
        import obstore
        import obstore.exceptions
        import obstore.store
    except ImportError:
        raise Misconfigured(
            "a store of deliveries in a bucket needs the library obstore, which is not installed",
            stage=STAGE,
            next_step=ShellCommand(f"{sys.executable} -m pip install obstore"),
        ) from None
    library: ModuleType = obstore
    return library


def _open(library: ModuleType, bucket: str, prefix: str, environ: Mapping[str, str]) -> Any:
    endpoint = next((environ[name] for name in _ENDPOINTS if environ.get(name)), "")
    return library.store.S3Store(
        bucket,
        prefix=prefix or None,
        client_options={
            "allow_http": endpoint.startswith("http://"),
            "connect_timeout": _CONNECT,
            "read_timeout": _SILENCE,
            "timeout": _REQUEST,
        },
        retry_config={"max_retries": _RETRIES, "retry_timeout": _PATIENCE},
    )


def _entry(found: Any) -> Entry | None:
    """An object of the listing as an entry; None for what is no bundle of ours."""
    name = str(found["path"]).rpartition("/")[2]
    if not SHA256.fullmatch(name) or found["path"] != key(name):
        return None
    return Entry(name, int(found["size"]), float(found["last_modified"].timestamp()))


def _shortened(error: Exception) -> str:
    """What the library says, without its inner values, which follow behind an empty line."""
    lines = takewhile(str.strip, str(error).splitlines())
    return textwrap.shorten(" ".join(lines), _LONGEST_REASON, placeholder=" …")
