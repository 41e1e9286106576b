"""What says that a tree was checked, signed by the worker that checked it.

Its subject is the git tree, not a commit: it holds for every commit with exactly these files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from shared.deliveries.in_toto import (
    NotAnEnvelopeError,
    NotATestResultError,
    WrongSignatureError,
    digest,
    moment,
    seal,
    statement,
    unseal,
)
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import NextStep
from shared.key_pair import KeyPair, read_public

PRIVATE_KEY: Final = "attestation-key"
PASSED: Final = "PASSED"


@dataclass(frozen=True, slots=True)
class Checks:
    """Commands that must be green, and where: a workspace of a repository on a host.

    `setup` is what makes that workspace ready.
    """

    repository: str
    host: str
    commands: tuple[str, ...]
    setup: str | None = None

    @property
    def digest(self) -> str:
        """What two lists of checks share if they are the same in the same place (SHA-256)."""
        return digest(
            {
                "repository": self.repository,
                "host": self.host,
                "setup": self.setup,
                "commands": list(self.commands),
            }
        )


@dataclass(frozen=True, slots=True)
class CheckedTree:
    """A tree on which all its checks were green between two times.

    It is that of `commit`, with which a session accepts the `delivery` (the SHA-256 of its bundle).
    """

    tree: str
    commit: str
    delivery: str
    session: str
    checks: Checks
    started_at: datetime
    finished_at: datetime

    @property
    def statement(self) -> dict[str, Any]:
        """What is signed."""
        return statement(
            [
                {"name": self.session, "digest": {"gitTree": self.tree}},
                {"name": "bundle", "digest": {"sha256": self.delivery}},
            ],
            {
                "result": PASSED,
                "configuration": [{"name": "checks", "digest": {"sha256": self.checks.digest}}],
                "passedTests": list(self.checks.commands),
                "warnedTests": [],
                "failedTests": [],
                "session": self.session,
                "delivery": self.delivery,
                "commit": self.commit,
                "repository": self.checks.repository,
                "host": self.checks.host,
                "setup": self.checks.setup,
                "startedAt": moment(self.started_at),
                "finishedAt": moment(self.finished_at),
            },
        )


@dataclass(frozen=True)
class AttestationKeys:
    """Signs with the key in a folder; believes that key, and those that are `trusted` (base64).

    The first to sign creates the key, readable by its owner only. Raises Misconfigured for a
    trusted key that is not valid.
    """

    folder: Path
    trusted: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        """Refuse a setting that is not valid before anything rests on it."""
        for text in self.trusted:
            _read(text, "attestation_keys")

    @property
    def public(self) -> str:
        """The public half of the key in the folder, as `attestation_keys` takes it."""
        return self._pair.public

    def sign(self, checked: CheckedTree) -> dict[str, Any]:
        """The signed envelope; the same for the same tree, checks and times.

        Raises Misconfigured when the key cannot be used.
        """
        return seal(checked.statement, self._pair.private)

    def verify(self, envelope: Any) -> CheckedTree:
        """What an envelope says, if one of the keys has signed it; Rejected otherwise."""
        own = self.folder / f"{PRIVATE_KEY}.pub"
        keys = [_read(text, "attestation_keys") for text in self.trusted]
        if own.exists():
            keys.append(_read(own.read_text(encoding="ascii", errors="replace"), str(own)))
        try:
            return _checked(unseal(envelope, keys))
        except NotAnEnvelopeError as error:
            raise _rejected("it is not a signed envelope") from error
        except WrongSignatureError as error:
            raise _rejected("no trusted key has signed it, or it was changed since") from error
        except NotATestResultError as error:
            raise _rejected("it does not say which tree was checked") from error

    @property
    def _pair(self) -> KeyPair:
        return KeyPair(self.folder, PRIVATE_KEY, purpose="signs what was checked", stage="attest")


def _checked(content: dict[str, Any]) -> CheckedTree:
    """What a statement says. Raises NotATestResultError unless it is one as made here."""
    try:
        tree, _ = (each["digest"] for each in content["subject"])
        said = content["predicate"]
        checks = Checks(said["repository"], said["host"], tuple(said["passedTests"]), said["setup"])
        found = CheckedTree(
            tree["gitTree"],
            said["commit"],
            said["delivery"],
            said["session"],
            checks,
            datetime.fromisoformat(said["startedAt"]),
            datetime.fromisoformat(said["finishedAt"]),
        )
        whole = found.statement == content
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotATestResultError from error
    if not whole:
        raise NotATestResultError
    return found


def _read(text: str, where: str) -> Any:
    try:
        return read_public(text)
    except ValueError as error:
        raise Misconfigured(
            f"the keys that sign what was checked cannot be read from {where}: {text!r} is not a "
            "valid public key",
            stage="config",
            next_step=NextStep.of("attestation key"),
        ) from error


def _rejected(why: str) -> Rejected:
    return Rejected(
        f"the attestation cannot be trusted: {why}",
        stage="attest",
        next_step=NextStep.of("attestation key"),
    )
