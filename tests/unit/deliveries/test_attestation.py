"""What says that a tree was checked: signed by a worker, believed by those who know its key."""

import json
from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from shared.deliveries.attestation import AttestationKeys, CheckedTree, Checks
from shared.deliveries.store import PatchStore
from shared.domain.errors import Misconfigured, Rejected

START = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
CHECKED = CheckedTree(
    tree="a" * 40,
    commit="b" * 40,
    delivery="c" * 64,
    session="T12@app",
    checks=Checks("app", "localhost", ("make lint", "make test"), "npm ci"),
    started_at=START,
    finished_at=START + timedelta(seconds=7),
)


def test_it_says_in_the_words_of_in_toto_what_was_checked(tmp_path: Path) -> None:
    envelope = AttestationKeys(tmp_path).sign(CHECKED)
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    said = json.loads(b64decode(envelope["payload"]))
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert said["subject"] == [
        {"name": "T12@app", "digest": {"gitTree": "a" * 40}},
        {"name": "bundle", "digest": {"sha256": "c" * 64}},
    ]
    predicate = said["predicate"]
    assert predicate["result"] == "PASSED"
    assert predicate["passedTests"] == ["make lint", "make test"]
    configuration = {"name": "checks", "digest": {"sha256": CHECKED.checks.digest}}
    assert predicate["configuration"] == [configuration]
    assert predicate["startedAt"] == "2026-01-02T03:04:05.000678Z"


def test_it_survives_a_journey_through_json(tmp_path: Path) -> None:
    """As the column of the database and the files of the store have it."""
    keys = AttestationKeys(tmp_path)
    envelope = json.loads(json.dumps(keys.sign(CHECKED), sort_keys=True, indent=2))
    assert keys.verify(envelope) == CHECKED
    assert keys.verify(envelope) == CHECKED  # reading it has not changed it
    assert keys.sign(CHECKED) == envelope


def test_only_known_keys_are_believed(tmp_path: Path) -> None:
    ours, theirs = AttestationKeys(tmp_path / "ours"), AttestationKeys(tmp_path / "theirs")
    envelope = theirs.sign(CHECKED)
    with pytest.raises(Rejected, match="no trusted key has signed it"):
        ours.verify(envelope)  # it has no key at all yet
    ours.sign(CHECKED)
    with pytest.raises(Rejected, match="no trusted key has signed it"):
        ours.verify(envelope)
    both = AttestationKeys(tmp_path / "ours", (theirs.public,))
    assert both.verify(envelope) == both.verify(ours.sign(CHECKED)) == CHECKED


def _payload(envelope: dict[str, Any], **changes: str) -> dict[str, Any]:
    content = json.loads(b64decode(envelope["payload"]))
    content["predicate"] |= changes
    return dict(envelope, payload=b64encode(json.dumps(content).encode()).decode())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda e: _payload(e, commit="d" * 40), "changed since"),
        (lambda e: dict(e, payloadType="text/plain"), "changed since"),
        (lambda e: dict(e, signatures=[]), "changed since"),
        (lambda e: dict(e, payload="%"), "not a signed envelope"),
        (lambda e: dict(e, payload=7), "not a signed envelope"),
        (lambda _: {}, "not a signed envelope"),
        (lambda e: [e], "not a signed envelope"),
        (lambda _: None, "not a signed envelope"),
    ],
)
def test_what_was_changed_is_refused(tmp_path: Path, change: Any, reason: str) -> None:
    keys = AttestationKeys(tmp_path)
    with pytest.raises(Rejected, match=reason):
        keys.verify(change(keys.sign(CHECKED)))


@pytest.mark.parametrize("result", ["FAILED", "WARNED"])
def test_no_other_result_passes_for_green(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: str
) -> None:
    """Whoever has the key may sign anything: what it says is read, not assumed."""
    keys = AttestationKeys(tmp_path)
    monkeypatch.setattr("shared.deliveries.attestation.PASSED", result)
    envelope = keys.sign(CHECKED)
    monkeypatch.undo()
    with pytest.raises(Rejected, match="does not say which tree was checked"):
        keys.verify(envelope)


def test_checks_are_the_same_only_in_the_same_place() -> None:
    checks = CHECKED.checks
    others = [
        replace(checks, commands=("make lint",)),
        replace(checks, commands=("make lint make test",)),
        replace(checks, host="elsewhere"),
        replace(checks, repository="other"),
        replace(checks, setup=None),
    ]
    assert len({each.digest for each in (checks, *others)}) == 6
    assert replace(checks).digest == checks.digest


def test_the_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    keys = AttestationKeys(tmp_path / "data")
    assert keys.public == AttestationKeys(tmp_path / "data").public
    assert {each.name for each in (tmp_path / "data").iterdir()} == {
        "attestation-key",
        "attestation-key.pub",
    }
    secret = tmp_path / "data" / "attestation-key"
    assert secret.stat().st_mode & 0o777 == 0o600
    secret.chmod(0o644)
    with pytest.raises(Misconfigured, match="readable by nobody else"):
        keys.sign(CHECKED)


def test_a_setting_that_is_not_a_key_is_the_operator_s_to_mend(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="'nonsense' is not a valid public key"):
        AttestationKeys(tmp_path, ("nonsense",))


def test_it_is_kept_beside_the_bundles_under_its_tree(tmp_path: Path) -> None:
    """Once, whoever stores it again; a name that is not an object's is refused."""
    store = PatchStore.open(str(tmp_path / "store"))
    envelope = AttestationKeys(tmp_path).sign(CHECKED)
    place = store.attest(CHECKED.tree, envelope)
    assert store.attest(CHECKED.tree, dict(reversed(envelope.items()))) == place
    (file,) = (tmp_path / "store" / "attestations" / CHECKED.tree).iterdir()
    assert place == file.as_uri()
    assert AttestationKeys(tmp_path).verify(json.loads(file.read_text())) == CHECKED
    assert file.stem == sha256(file.read_bytes()).hexdigest()
    assert list(store.entries()) == []
    for name in ("../up", "a" * 39, ""):
        with pytest.raises(Rejected, match="is not the id of a tree"):
            store.attest(name, envelope)
