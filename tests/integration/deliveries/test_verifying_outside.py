"""What is on the remote is what was checked: the script of the documentation proves it.

It runs as it stands there, and knows nothing of replan.
"""

import json
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from shared.deliveries.attestation import AttestationKeys, CheckedTree, Checks
from shared.deliveries.bundle import Bundle, Meta, pack
from shared.deliveries.store import PatchStore
from tests.integration.deliveries.trees import Objects, files
from tests.integration.workspaces.sources import run_git
from tests.services.outside import prove, script
from workers.deliveries.line import Line
from workers.deliveries.values import DeliveryCommit, Merged

LONGEST = 30
AT = datetime(2026, 11, 23, 1, 2, 3, tzinfo=UTC)
HELLO = files(readme="hello\n", code="print(1)\n")


@dataclass
class Published:
    """A session with two deliveries on a remote, as others see it."""

    folder: Path
    ours: Objects
    keys: AttestationKeys
    head: str = ""
    public: str = ""

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def remote(self) -> Path:
        return self.folder / "remote.git"

    def copy(self, name: str) -> "Published":
        """The same in another place, to be changed."""
        folder = self.folder / name
        for each in (self.store, self.remote):
            shutil.copytree(each, folder / each.name)
        return replace(self, folder=folder)

    def envelope(self) -> Path:
        """The file with the attestation of the head."""
        tree = self.ours.name_of(f"{self.head}^{{tree}}")
        (found,) = (self.store / "attestations" / tree).iterdir()
        return found

    def bundle(self) -> Path:
        """The file with the bundle of the newest delivery."""
        told = self.ours.git("log", "-1", "--format=%B", self.head).decode()
        digest = told.rpartition("sha256:")[2].strip()
        return self.store / "sha256" / digest[:2] / digest

    def push(self, commit: str) -> None:
        """Put a commit on the branch of the session."""
        self.ours.git("push", "--quiet", str(self.remote), f"+{commit}:refs/heads/session/T12")

    def verify(self) -> subprocess.CompletedProcess[str]:
        """Run the script of the documentation."""
        return prove(self.remote, "session/T12", "main", self.store, self.public)


@pytest.fixture
def published(tmp_path: Path, line: Line, ours: Objects, base: str) -> Published:
    """One delivery is the next commit, the other one is merged with it."""
    store, keys = PatchStore.open(str(tmp_path / "store")), AttestationKeys(tmp_path / "data")
    contents = (HELLO | files(new="1\n"), HELLO | files(readme="hello, all\n", other="\0"))
    deliveries = []
    for number, content in enumerate(contents):
        tree = ours.tree(content)
        meta = Meta(
            project_id="app",
            session_id="T12@app",
            attempt_id=f"T12.{number}-r0-p1@app",
            issue_id="L-012001",
            base_sha=base,
            result_tree=tree,
            created_at=AT,
        )
        stored = store.put(pack(Bundle(meta, line.publish(base, tree).patch, {})))
        deliveries.append(DeliveryCommit(stored.sha256, base, tree, AT, f"Do {number}"))
    merged = line.merge(base, deliveries)
    assert isinstance(merged, Merged)
    checks = Checks("app", "localhost", ("make test",))
    for each in merged.line:
        checked = CheckedTree(each.tree, each.commit, each.delivery, "T12@app", checks, AT, AT)
        store.attest(each.tree, keys.sign(checked))
        store.attest(each.tree, keys.sign(checked))  # again, as whoever drives it on does
    run_git(tmp_path, "init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    made = Published(tmp_path, ours, keys, merged.commit, keys.public)
    made.ours.git("push", "--quiet", str(made.remote), f"{base}:refs/heads/main")
    made.push(merged.commit)
    return made


def test_the_script_is_short() -> None:
    assert len(script().splitlines()) <= LONGEST


def test_what_was_checked_is_proved(published: Published) -> None:
    found = published.verify()
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert lines[0] == f"{published.head} is what was checked"
    assert len(lines) == 2


def another_commit(published: Published) -> None:
    """Somebody has pushed on top; it names a delivery that there is."""
    tree = published.ours.tree(HELLO | files(backdoor="x\n"))
    digest = published.bundle().name
    words = ("commit-tree", tree, "-p", published.head, "-m", f"Do 2\n\nDelivery: sha256:{digest}")
    author = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    published.push(published.ours.git(*author, *words).decode().strip())


def another_merge(published: Published) -> None:
    """The same tree and the same delivery, on another history."""
    first, second = published.ours.git("rev-parse", f"{published.head}^@").decode().split()
    told = published.ours.git("log", "-1", "--format=%B", published.head).decode()
    tree = published.ours.name_of(f"{published.head}^{{tree}}")
    words = ("commit-tree", tree, "-p", second, "-p", first, "-m", told)
    author = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    published.push(published.ours.git(*author, *words).decode().strip())


def changed_bundle(published: Published) -> None:
    """One byte of a file in the store."""
    data = bytearray(published.bundle().read_bytes())
    data[-1] ^= 1
    published.bundle().write_bytes(data)


def changed_envelope(published: Published) -> None:
    """It says of another command that it passed."""
    envelope = json.loads(published.envelope().read_text())
    payload = b64decode(envelope["payload"]).replace(b"make test", b"make tost")
    envelope["payload"] = b64encode(payload).decode()
    published.envelope().write_text(json.dumps(envelope))


def envelope_of_another_tree(published: Published) -> None:
    """A good signature, about other files."""
    first = published.ours.name_of(f"{published.head}^1^{{tree}}")
    (other,) = (published.store / "attestations" / first).iterdir()
    published.envelope().write_bytes(other.read_bytes())


def no_envelope(published: Published) -> None:
    """Nobody has signed it."""
    published.envelope().unlink()


def another_key(published: Published) -> None:
    """Somebody else has."""
    published.public = AttestationKeys(published.folder / "other").public


CHANGES: Final[tuple[Callable[[Published], None], ...]] = (
    another_commit,
    another_merge,
    changed_bundle,
    changed_envelope,
    envelope_of_another_tree,
    no_envelope,
    another_key,
)


def test_what_was_changed_is_found(published: Published) -> None:
    for change in CHANGES:
        changed = published.copy(change.__name__)
        change(changed)
        found = changed.verify()
        assert found.returncode == 1, change
        assert f"{changed.head} is what was checked" not in found.stdout
