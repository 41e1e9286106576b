"""`replan store …`: bundles of deliveries, put, had, verified and cleaned up (S2.63, S2.80)."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from sqlalchemy import text

from shared.deliveries.bundle import digest, pack
from tests.integration.cli.calling import Cli
from tests.services.sessions import make_session
from tests.unit.deliveries.given import BUNDLE, DELIVERABLES, PATCH, numbered

BYTES = pack(BUNDLE)
SHA256 = digest(BYTES)
MONTH = 31 * 86_400


@pytest.fixture
def root(bare: Path) -> Path:
    """The store of whoever has said nothing about it."""
    return bare / ".local" / "share" / "replan" / "deliveries"


def written(folder: Path, data: bytes = BYTES) -> Path:
    path = folder / "given.tar"
    path.write_bytes(data)
    return path


def grow_old(root: Path, sha256: str) -> None:
    at = time.time() - MONTH
    os.utime(root / "sha256" / sha256[:2] / sha256, (at, at))


def deliver(cli: Cli, sha256: str) -> None:
    """Let the row of a delivery refer to a bundle; another one was refused, and has none."""
    with cli.database.begin() as connection:
        make_session(connection, deliveries=2)
        change = text("UPDATE deliveries SET sha256 = :sha256 WHERE step = 1")
        connection.execute(change, {"sha256": sha256})
        connection.execute(text("UPDATE deliveries SET uri = '' WHERE step = 2"))


def test_a_bundle_is_put_and_had(cli: Cli, root: Path, tmp_path: Path) -> None:
    stored = cli.json("store", "put", written(tmp_path))["details"]
    uri = (root / "sha256" / SHA256[:2] / SHA256).as_uri()
    assert stored == {"uri": uri, "sha256": SHA256, "size": len(BYTES)}
    assert cli.json("store", "put", written(tmp_path))["details"] == stored
    copy = tmp_path / "copy.tar"
    had = cli.json("store", "get", SHA256, "--output", copy)["details"]
    assert copy.read_bytes() == BYTES
    assert (had["size"], had["file"]) == (len(BYTES), str(copy))
    assert had["meta"]["session_id"] == "T12@app"
    assert had["deliverables"] == DELIVERABLES
    words = ("tar", "-xOf", str(copy), "patch.diff")
    assert subprocess.run(words, capture_output=True, check=True).stdout == PATCH
    assert "already exists" in cli.refused("store", "get", SHA256, "--output", copy)["reason"]
    for said in (cli("store", "put", written(tmp_path)), cli("store", "get", SHA256)):
        assert said.code == 0
    entries = cli.json("audit", "list", "--ref", SHA256)["details"]["entries"]
    assert {entry["verb"] for entry in entries} == {"store.put"}


def test_a_bundle_is_had_without_a_database(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.json("store", "put", written(tmp_path))
    monkeypatch.setenv("REPLAN_DATABASE_URL", "postgresql://me@127.0.0.1:1/none")
    assert cli.json("store", "verify", SHA256)["details"]["verified"] == 1
    assert cli.json("store", "get", SHA256)["details"]["size"] == len(BYTES)
    cli.json("store", "verify", code=4)


def test_what_is_no_bundle_is_refused(cli: Cli, root: Path, tmp_path: Path) -> None:
    assert cli.refused("store", "put", written(tmp_path, PATCH))["stage"] == "bundle"
    assert cli.refused("store", "put", tmp_path / "missing")["stage"] == "input"
    assert cli.refused("store", "get", SHA256)["stage"] == "store"
    assert cli.refused("store", "get", "../../etc/passwd")["stage"] == "input"
    assert cli.refused("store", "verify", "x")["stage"] == "input"
    assert cli.refused("store", "gc", "--older-than", "0")["stage"] == "input"
    assert not root.exists()


@pytest.mark.changes_rows
def test_every_bundle_is_verified_and_those_of_deliveries_are_missed(
    cli: Cli, root: Path, tmp_path: Path
) -> None:
    assert cli.json("store", "verify")["details"] == {"verified": 0, "faults": []}
    cli.json("store", "put", written(tmp_path))
    assert cli.json("store", "verify")["details"]["verified"] == 1
    assert "1 bundle, unchanged" in cli("store", "verify", SHA256).out
    deliver(cli, "0" * 64)
    (root / "sha256" / SHA256[:2] / SHA256).write_bytes(BYTES[:-1])
    answer = cli.json("store", "verify", code=1)
    assert {f["sha256"]: f["condition"] for f in answer["details"]["faults"]} == {
        "0" * 64: "absent",
        SHA256: "changed",
    }
    assert answer["next_step_cmd"] == "replan store put FILE"
    said = cli("store", "verify", SHA256)
    assert said.code == 1
    assert f"changed: {root.as_uri()}" in said.out
    assert "was changed" in cli.refused("store", "get", SHA256)["reason"]


@pytest.mark.changes_rows
def test_what_no_delivery_refers_to_goes_when_that_is_said(
    cli: Cli, root: Path, tmp_path: Path
) -> None:
    bundles = [pack(numbered(number)) for number in range(3)]
    referred, old, young = map(digest, bundles)
    for data in bundles:
        cli.json("store", "put", written(tmp_path, data))
    for sha256 in (referred, old):
        grow_old(root, sha256)
    said = cli("store", "gc")
    assert "is it the right database?" in said.err
    deliver(cli, referred)
    foretold = cli.json("store", "gc", "--dry-run")
    assert [each["sha256"] for each in foretold["details"]["removed"]] == [old]
    assert foretold["next_step_cmd"] == "replan store gc --older-than 30 --apply"
    assert "would remove 1 bundle" in cli("store", "gc").out
    assert cli.json("store", "verify")["details"]["verified"] == 3
    done = cli.json("store", "gc", "--apply")["details"]
    assert [each["sha256"] for each in done["removed"]] == [old]
    assert (done["applied"], done["referred"], done["young"]) == (True, 1, 1)
    cli.json("store", "get", referred)
    cli.json("store", "get", young)
    assert cli.refused("store", "get", old)["stage"] == "store"
    assert cli.json("store", "gc", "--apply")["details"]["removed"] == []
    entries = cli.json("audit", "list", "--ref", "store")["details"]["entries"]
    assert [entry["details"]["bundles"] for entry in entries] == [0, 1]


def test_a_setting_that_cannot_be_used_is_said(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAN_DELIVERY_STORE", str(written(tmp_path)))
    answer = cli.refused("store", "put", written(tmp_path))
    assert answer["stage"] == "store"
    assert str(tmp_path) in answer["next_step_cmd"]


@pytest.mark.changes_rows
def test_the_doctor_looks_for_the_newest_bundle(cli: Cli, root: Path, tmp_path: Path) -> None:
    """Workers and the command line may be set to different stores."""

    def findings() -> list[tuple[bool, str]]:
        found = cli.json("doctor", code=1)["details"]["findings"]
        return [(f["ok"], f["reason"]) for f in found if f["check"] == "deliveries"]

    assert findings() == []
    deliver(cli, SHA256)
    ((ok, reason),) = findings()
    assert not ok
    assert f"absent: {root.as_uri()}" in reason
    cli.json("store", "put", written(tmp_path))
    ((ok, reason),) = findings()
    assert ok
