"""What a task proved, as a signed attestation that anybody can verify without replan's database.

An in-toto Statement (v1) with the predicate test-result (v0.1) in a DSSE envelope; what that
predicate has no field for stands under `steps`.
"""

import hashlib
import json
from base64 import b64decode
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from orchestrator.views.proofs import Proof, StepProof, SubtaskProof
from orchestrator.views.report import Report
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.task import StepPhase, TaskPhase

if TYPE_CHECKING:  # slow to load, and few commands sign
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

STATEMENT: Final = "https://in-toto.io/Statement/v1"
TEST_RESULT: Final = "https://in-toto.io/attestation/test-result/v0.1"
PAYLOAD: Final = "application/vnd.in-toto+json"


class Result(StrEnum):
    """The result of a task in the words of the predicate."""

    PASSED = "PASSED"  # done, and every subtask is proved by a check that was red before
    WARNED = "WARNED"  # done, but something rests on less
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Attestation:
    """What a verified attestation says of a task; `steps` as they stand in it."""

    task: str
    result: Result
    ended_at: str
    steps: tuple[dict[str, Any], ...]


def statement(report: Report) -> dict[str, Any]:
    """What a task that has ended proved.

    Each step is a subject, by the digest of what proves it: of its texts, proofs and times.
    """
    steps = [_step(each) for each in report.proofs]
    tests: dict[Result, list[str]] = {result: [] for result in Result}
    for step in report.proofs:
        for subtask in step.subtasks:
            tests[_result(subtask.proof)].append(str(subtask.ref))
    return {
        "_type": STATEMENT,
        "subject": [{"name": step["ref"], "digest": {"sha256": _digest(step)}} for step in steps],
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": _whole(report).value,
            "configuration": [
                {"name": str(report.task.ref), "digest": {"sha256": _digest(report.task.prompt)}}
            ],
            "passedTests": tests[Result.PASSED],
            "warnedTests": tests[Result.WARNED],
            "failedTests": tests[Result.FAILED],
            "prompt": report.task.prompt,
            "endedAt": _time(report.task.ended_at),
            "steps": steps,
        },
    }


def sign(content: dict[str, Any], key: "Ed25519PrivateKey") -> str:
    """The envelope with that statement, as JSON."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner

    envelope = Envelope(_canonical(content), PAYLOAD, {})
    envelope.sign(CryptoSigner(key))
    return json.dumps(envelope.to_dict(), indent=1) + "\n"


def verify(text: str, public_key: str) -> Attestation:
    """What an envelope says, if that key (in base64) has signed it.

    Raises Rejected when the key or the envelope is not valid, when another key has signed it, and
    when it has been changed since.
    """
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error
    from securesystemslib.signer import SSlibKey

    try:
        key = SSlibKey.from_crypto(_public(public_key))
        envelope = Envelope.from_dict(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, Error) as error:
        raise _rejected("it is not a signed attestation (a DSSE envelope in JSON)") from error
    try:
        envelope.verify([key], 1)
    except Error as error:
        raise _rejected("that key has not signed it, or it was changed afterwards") from error
    return _read(envelope.payload_type, envelope.payload)


def _read(kind: str, payload: bytes) -> Attestation:
    """What a signed payload says. Raises Rejected unless it is a statement as made here."""
    try:
        content = json.loads(payload)
        predicate = content["predicate"]
        named = [(each["name"], each["digest"]["sha256"]) for each in content["subject"]]
        said = [(each["ref"], _digest(each)) for each in predicate["steps"]]
        task = predicate["configuration"][0]["name"]
        whole = kind == PAYLOAD and content["_type"] == STATEMENT
        whole = whole and content["predicateType"] == TEST_RESULT and named == said
        found = Attestation(
            str(task),
            Result(predicate["result"]),
            str(predicate["endedAt"]),
            tuple(predicate["steps"]),
        )
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise _rejected("it does not say what a task proved") from error
    if not whole:
        raise _rejected("it does not say what a task proved")
    return found


def _public(text: str) -> "Ed25519PublicKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        return Ed25519PublicKey.from_public_bytes(b64decode(text.strip(), validate=True))
    except ValueError as error:
        raise Rejected(
            f"{text!r} is not a valid public key",
            stage="input",
            next_step=NextStep.of("intervention key"),
        ) from error


def _rejected(why: str) -> Rejected:
    return Rejected(
        f"the attestation cannot be trusted: {why}",
        stage="verify",
        next_step=NextStep.of("attestation verify", help=True),
    )


def _whole(report: Report) -> Result:
    if report.task.phase is not TaskPhase.DONE:
        return Result.FAILED
    results = {_result(step.weakest) for step in report.proofs if step.phase is StepPhase.DONE}
    return Result.PASSED if results == {Result.PASSED} else Result.WARNED


def _result(proof: Proof) -> Result:
    match proof:
        case Proof.CHECK:
            return Result.PASSED
        case Proof.NEVER_RED | Proof.GREEN_BEFORE | Proof.EXIT_CODE | Proof.PERSON:
            return Result.WARNED
        case Proof.NOTHING:
            return Result.FAILED


def _step(step: StepProof) -> dict[str, Any]:
    return {
        "ref": str(step.ref),
        "title": step.title,
        "phase": step.phase.value,
        "revision": step.revision,
        "proof": step.weakest.value,
        "subtasks": [_subtask(each) for each in step.subtasks],
        "droppedChecks": [asdict(each) for each in step.dropped_checks],
    }


def _subtask(proof: SubtaskProof) -> dict[str, Any]:
    return {
        "ref": str(proof.ref),
        "command": proof.command,
        "check": proof.check,
        "proof": proof.proof.value,
        "attempt": None if proof.attempt is None else str(proof.attempt),
        "at": _time(proof.at),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _digest(content: object) -> str:
    return hashlib.sha256(_canonical(content)).hexdigest()


def _canonical(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")
