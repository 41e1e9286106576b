"""What a task proved: told by its report, signed, and verified without the database."""

import hashlib
import json
import shutil
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tests.integration.cli.calling import Cli
from tests.services.ring import eventually

PLAN = """\
steps:
  - title: the folder
    subtasks:
      - {run: mkdir -p FOLDER/made, check: test -d FOLDER/made}
  - title: the rest
    subtasks:
      - {run: "true"}
      - {run: touch FOLDER/known, check: test -e FOLDER/known}
"""


def carried_out(cli: Cli, folder: Path, plan: str = PLAN) -> str:
    """A task that has ended."""
    folder.mkdir()
    (folder / "known").touch()
    file = folder.with_suffix(".yaml")
    file.write_text(plan.replace("FOLDER", str(folder)))
    ref = str(cli.json("task", "submit", "--plan", file, "--local")["details"]["ref"])
    eventually(lambda: cli.json("task", "show", ref)["details"]["ended_at"], "the end")
    return ref


def signed(envelope: dict[str, Any], key: str) -> dict[str, Any]:
    """The statement in an envelope, read as the specification of DSSE says, and by no library."""
    kind, payload = envelope["payloadType"].encode(), b64decode(envelope["payload"])
    text = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    (signature,) = envelope["signatures"]
    Ed25519PublicKey.from_public_bytes(b64decode(key)).verify(b64decode(signature["sig"]), text)
    statement: dict[str, Any] = json.loads(payload)
    return statement


def test_the_report_says_what_was_proved_and_by_what(working: Cli, tmp_path: Path) -> None:
    ref = carried_out(working, tmp_path / "place")
    told = working("task", "report", ref).out
    proved = told[told.index("## What was proved") :]
    check = f"``test -d {tmp_path}/place/made``"
    assert "1 of 2 steps are proved by checks that were red before." in proved
    assert f"{ref}.1.1@localhost: {check} – proved by its check, at " in proved
    assert f"{ref}.2.1@localhost – it has no check; its command ended with exit code 0" in proved
    assert "– its check was green before the command ran, so the command did not run, at " in proved
    proofs = working.json("task", "report", ref)["details"]["proofs"]
    assert [s["proof"] for each in proofs for s in each["subtasks"]] == [
        "check",
        "exit_code",
        "green_before",
    ]


def test_anybody_can_verify_it_without_the_database(
    working: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = carried_out(working, tmp_path / "place")
    file = tmp_path / "proof.json"
    assert working.json("attestation", "create", ref, "--output", file)["details"]["ref"] == ref
    key = working.json("intervention", "key")["details"]["public_key"]
    statement = signed(json.loads(file.read_text()), key)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    predicate = statement["predicate"]
    assert predicate["result"] == "WARNED"
    assert predicate["passedTests"] == [f"{ref}.1.1@localhost"]
    assert predicate["warnedTests"] == [f"{ref}.2.1@localhost", f"{ref}.2.2@localhost"]
    for subject, step in zip(statement["subject"], predicate["steps"], strict=True):
        written = json.dumps(step, sort_keys=True, separators=(",", ":")).encode()
        digest = {"sha256": hashlib.sha256(written).hexdigest()}
        assert subject == {"name": step["ref"], "digest": digest}

    monkeypatch.setenv("REPLAN_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    answer = working.json("attestation", "verify", file)["details"]
    assert (answer["task"], answer["result"]) == (ref, "WARNED")
    monkeypatch.setenv("REPLAN_DATA_DIR", str(tmp_path / "elsewhere"))
    told = working("attestation", "verify", file, "--key", key)
    assert told.code == 0
    assert f"signed, and unchanged: {ref} WARNED" in told.out
    assert "whose signature" in working.json("attestation", "verify", file, code=2)["reason"]


def test_what_was_changed_or_signed_by_others_is_refused(working: Cli, tmp_path: Path) -> None:
    ref = carried_out(working, tmp_path / "place")
    file = tmp_path / "proof.json"
    working.json("attestation", "create", ref, "--output", file)
    envelope = json.loads(file.read_text())
    payload = b64decode(envelope["payload"])
    forged = dict(envelope, payload=b64encode(payload.replace(b"WARNED", b"PASSED")).decode())
    with pytest.raises(InvalidSignature):
        signed(forged, working.json("intervention", "key")["details"]["public_key"])
    other = b64encode(Ed25519PrivateKey.generate().public_key().public_bytes_raw()).decode()
    cases: dict[str, tuple[str, tuple[str, ...]]] = {
        json.dumps(forged): ("not signed it, or it was changed", ()),
        json.dumps(envelope): ("not signed it, or it was changed", ("--key", other)),
        json.dumps(dict(envelope, signatures=[])): ("not signed it", ()),
        json.dumps(dict(envelope, payload="%")): ("not a signed attestation", ()),
        json.dumps({"payload": 7}): ("not a signed attestation", ()),
        "[]": ("not a signed attestation", ()),
        "": ("not a signed attestation", ()),
        file.read_text(): ("'no key' is not a valid public key", ("--key", "no key")),
    }
    again = working.refused("attestation", "create", ref, "--output", file)
    assert "is not overwritten" in again["reason"]
    for text, (reason, options) in cases.items():
        file.write_text(text)
        assert reason in working.refused("attestation", "verify", file, *options)["reason"]
    shutil.rmtree(tmp_path / "place")


def test_only_what_has_ended_is_signed(coordinated: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("steps:\n  - title: s\n    subtasks:\n      - {run: x}\n")
    ref = coordinated.json("task", "submit", "--plan", plan, "--local")["details"]["ref"]
    answer = coordinated.json("attestation", "create", ref, code=2)
    assert "has ended" in answer["reason"]
    assert answer["next_step_cmd"] == f"replan task watch {ref}"
