"""Persons sign and executors verify, with the key in the folder or the keys in the settings."""

import threading
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.acts.signing import Signer
from shared.domain.approval import Approval, ApprovalScope
from shared.domain.errors import Misconfigured
from workers.roles.signatures import Signatures

WORD = Approval("d" * 64, ApprovalScope.ONCE, "ann", datetime(2026, 1, 1, tzinfo=UTC))


def test_what_was_signed_here_is_believed_here(tmp_path: Path) -> None:
    """Without any setup: the first who needs the key creates it. Before, nothing is believed."""
    signatures = Signatures((), tmp_path / "data")
    assert not signatures.believes(7, WORD)
    signed = Signer(tmp_path / "data").sign(7, WORD)
    assert signatures.believes(7, signed)
    assert not signatures.believes(7, WORD)
    assert not signatures.believes(8, signed)
    for changed in (
        replace(signed, scope=ApprovalScope.TASK),
        replace(signed, digest="e" * 64),
        replace(signed, given_by="bob"),
        replace(signed, expires_at=WORD.expires_at + timedelta(hours=1)),
        replace(signed, signature="no base64!"),
        replace(signed, signature=b64encode(bytes(64)).decode()),
    ):
        assert not signatures.believes(7, changed)


def test_a_key_that_replaces_a_known_one_is_not_believed(tmp_path: Path) -> None:
    """Whoever can write into the data folder of a running executor approves nothing by that."""
    signatures = Signatures((), tmp_path / "data")
    signed = Signer(tmp_path / "data").sign(7, WORD)
    assert signatures.believes(7, signed)
    other = Signer(tmp_path / "other")
    (tmp_path / "data" / "approval-key.pub").write_text(other.public)
    assert not signatures.believes(7, other.sign(7, WORD))
    assert signatures.believes(7, signed)


def test_only_keys_that_are_set_count_where_some_are(tmp_path: Path) -> None:
    ann, bob = Signer(tmp_path / "ann"), Signer(tmp_path / "bob")
    here = Signer(tmp_path / "here")
    signatures = Signatures((ann.public, bob.public), tmp_path / "here")
    assert signatures.believes(7, ann.sign(7, WORD))
    assert signatures.believes(7, bob.sign(7, WORD))
    assert not signatures.believes(7, here.sign(7, WORD))


def test_a_key_is_made_once_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    signers: list[Signer] = []
    start = threading.Barrier(6)

    def make() -> None:
        start.wait()
        signers.append(Signer(tmp_path / "data"))

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(signers) == 6
    assert len({signer.public for signer in signers}) == 1
    assert (tmp_path / "data" / "approval-key").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in (tmp_path / "data").iterdir()} == {
        "approval-key",
        "approval-key.pub",
    }


def test_a_key_that_is_none_is_the_operator_s_to_mend(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="'nonsense' is not a valid public key"):
        Signatures(("nonsense",), tmp_path)
    (tmp_path / "approval-key.pub").write_text("AAAA\n")
    with pytest.raises(Misconfigured, match="is not a valid public key"):
        Signatures((), tmp_path).believes(7, WORD)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(Misconfigured, match="cannot be used"):
        Signer(tmp_path / "data")
