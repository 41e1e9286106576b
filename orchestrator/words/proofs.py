"""What was proved, in words."""

from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.views.proofs import Proof, StepProof, SubtaskProof

_BY = {
    Proof.CHECK: "proved by its check",
    Proof.NEVER_RED: "its check is green, but was never seen red",
    Proof.GREEN_BEFORE: "its check was green before the command ran, so the command did not run",
    Proof.EXIT_CODE: "it has no check; its command ended with exit code 0",
    Proof.PERSON: "a person said so",
    Proof.NOTHING: "not proved",
}
"""What stands behind a subtask."""


def describe(proof: SubtaskProof) -> str:
    """What proves a subtask, and when: "proved by its check at 2026-11-22 09:15:02 UTC"."""
    if proof.at is None:
        return _BY[proof.proof]
    return f"{_BY[proof.proof]}, at {proof.at:%Y-%m-%d %H:%M:%S} UTC"


def summary(proofs: tuple[StepProof, ...]) -> str:
    """How much of a task is proved: "3 of 5 steps are proved by checks"."""
    proved = sum(each.weakest is Proof.CHECK for each in proofs)
    return f"{proved} of {len(proofs)} steps are proved by checks that were red before."


def attested(steps: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What the steps of an attestation say, a line for each subtask."""
    for step in steps:
        yield f"{step['ref']} {step['title']}: {step['phase']}"
        for each in step["subtasks"]:
            when = "" if each["at"] is None else f", at {each['at']}"
            check = "" if each["check"] is None else f" {each['check']!r}"
            yield f"  {each['ref']}: {_BY[Proof(each['proof'])]}{check}{when}"
