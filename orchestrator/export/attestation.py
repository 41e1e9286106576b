"""What a task proved, as a signed attestation that anybody can verify without replan's database.

An in-toto Statement (v1) with the predicate test-result (v0.1) in a DSSE envelope; what that
predicate has no field for stands under `steps`.
"""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from orchestrator.views.proofs import Proof, StepProof, SubtaskProof
from orchestrator.views.report import Report
from shared.deliveries import in_toto
from shared.deliveries.in_toto import (
    NotAnEnvelopeError,
    NotATestResultError,
    WrongSignatureError,
    digest,
)
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.task import StepPhase, TaskPhase
from shared.key_pair import read_public

if TYPE_CHECKING:  # slow to load, and few commands sign
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )


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
    return in_toto.statement(
        [{"name": step["ref"], "digest": {"sha256": digest(step)}} for step in steps],
        {
            "result": _whole(report).value,
            "configuration": [
                {"name": str(report.task.ref), "digest": {"sha256": digest(report.task.prompt)}}
            ],
            "passedTests": tests[Result.PASSED],
            "warnedTests": tests[Result.WARNED],
            "failedTests": tests[Result.FAILED],
            "prompt": report.task.prompt,
            "endedAt": _time(report.task.ended_at),
            "steps": steps,
        },
    )


def sign(content: dict[str, Any], key: "Ed25519PrivateKey") -> str:
    """The envelope with that statement, as JSON."""
    return json.dumps(in_toto.seal(content, key), indent=1) + "\n"


def verify(text: str, public_key: str) -> Attestation:
    """What an envelope says, if that key (in base64) has signed it.

    Raises Rejected when the key or the envelope is not valid, when another key has signed it, and
    when it has been changed since.
    """
    try:
        return _read(in_toto.unseal(json.loads(text), [_public(public_key)]))
    except WrongSignatureError as error:
        raise _rejected("that key has not signed it, or it was changed afterwards") from error
    except NotATestResultError as error:
        raise _rejected("it does not say what a task proved") from error
    except (NotAnEnvelopeError, json.JSONDecodeError) as error:
        raise _rejected("it is not a signed attestation (a DSSE envelope in JSON)") from error


def _read(content: dict[str, Any]) -> Attestation:
    """What a statement says. Raises NotATestResultError unless it is one as made here."""
    try:
        predicate = content["predicate"]
        named = [(each["name"], each["digest"]["sha256"]) for each in content["subject"]]
        said = [(each["ref"], digest(each)) for each in predicate["steps"]]
        task = predicate["configuration"][0]["name"]
        found = Attestation(
            str(task),
            Result(predicate["result"]),
            str(predicate["endedAt"]),
            tuple(predicate["steps"]),
        )
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise NotATestResultError from error
    if named != said:
        raise NotATestResultError
    return found


def _public(text: str) -> "Ed25519PublicKey":
    try:
        return read_public(text)
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


def _time(at: datetime | None) -> str | None:
    return None if at is None else in_toto.moment(at)
