"""The patch store in a folder: written once, never half, and nothing is lost (S2.32-S2.35)."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

import pytest

from shared.deliveries.bundle import digest, pack
from shared.deliveries.store import PatchStore
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.patch_store import LEAST_AGE, Condition, GcPolicy, Stored
from tests.unit.deliveries.given import BUNDLE, numbered

BYTES = pack(BUNDLE)
SHA256 = digest(BYTES)
OLD = time.time() - 3 * LEAST_AGE
AGE = 2 * LEAST_AGE


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "not yet" / "deliveries"


@pytest.fixture
def store(root: Path) -> PatchStore:
    return PatchStore.open(str(root))


def file_of(root: Path, sha256: str = SHA256) -> Path:
    return root / "sha256" / sha256[:2] / sha256


def grow_old(root: Path, sha256: str = SHA256) -> None:
    os.utime(file_of(root, sha256), (OLD, OLD))


def test_what_was_put_can_be_had(store: PatchStore, root: Path) -> None:
    stored = store.put(BYTES)
    assert stored == Stored(file_of(root).as_uri(), SHA256, len(BYTES))
    assert store.get(SHA256) == BYTES
    assert store.verify(SHA256).condition is Condition.GOOD
    assert [(e.sha256, e.size) for e in store.entries()] == [(SHA256, len(BYTES))]


def test_putting_it_again_changes_nothing(store: PatchStore, root: Path) -> None:
    """S2.83: what is stored is never written again."""
    first = store.put(BYTES)
    before = file_of(root).stat()
    assert store.put(BYTES) == first
    after = file_of(root).stat()
    assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
    assert list((root / "writing").iterdir()) == []


def test_only_a_bundle_is_stored(store: PatchStore, root: Path) -> None:
    with pytest.raises(Rejected) as caught:
        store.put(b"diff --git a/x b/x\n")
    assert caught.value.stage == "bundle"
    assert not root.exists()


def test_a_store_where_nothing_was_put_is_empty(store: PatchStore, root: Path) -> None:
    assert list(store.entries()) == []
    assert store.verify(SHA256).condition is Condition.ABSENT
    with pytest.raises(Rejected, match="is not in the store"):
        store.get(SHA256)
    assert store.gc(GcPolicy((), AGE, apply=True)).removed == ()
    assert not root.exists()


@pytest.mark.parametrize(
    "changed", [BYTES + b"\0", BYTES[:-1], b"", BYTES.replace(b"x b/x", b"y b/y"), bytes(1)]
)
def test_a_bundle_that_was_changed_in_the_store_is_refused(
    store: PatchStore, root: Path, changed: bytes
) -> None:
    store.put(BYTES)
    file_of(root).write_bytes(changed)
    assert store.verify(SHA256).condition is Condition.CHANGED
    with pytest.raises(Rejected, match="was changed in the store"):
        store.get(SHA256)
    with pytest.raises(Misconfigured, match="Move it away") as caught:
        store.put(BYTES)
    assert caught.value.next_step
    assert file_of(root).read_bytes() == changed


def test_a_link_is_not_followed(store: PatchStore, root: Path, tmp_path: Path) -> None:
    store.put(BYTES)
    elsewhere = tmp_path / "elsewhere"
    file_of(root).replace(elsewhere)
    file_of(root).symlink_to(elsewhere)
    assert list(store.entries()) == []
    with pytest.raises(Misconfigured):
        store.get(SHA256)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "a" * 63, SHA256 + "\n"])
def test_a_name_that_is_no_digest_is_refused(store: PatchStore, name: str) -> None:
    for look in (store.get, store.verify):
        with pytest.raises(Rejected, match="is not a SHA-256") as caught:
            look(name)
        assert caught.value.stage == "input"


def test_files_of_others_are_no_bundles(store: PatchStore, root: Path) -> None:
    store.put(BYTES)
    (root / "sha256" / "notes.txt").write_text("x")
    (root / "sha256" / "ff").mkdir(exist_ok=True)
    (root / "sha256" / "ff" / SHA256).write_text("in the wrong folder")
    (file_of(root).parent / "README").write_text("x")
    assert [entry.sha256 for entry in store.entries()] == [SHA256]


def test_writers_at_once_store_one_bundle(store: PatchStore, root: Path) -> None:
    bundles = [pack(numbered(number)) for number in range(4)]
    start = threading.Barrier(8)
    stored: list[Stored] = []

    def write() -> None:
        start.wait()
        stored.extend(PatchStore.open(str(root)).put(data) for data in bundles)

    writers = [threading.Thread(target=write) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(stored) == 32
    assert {entry.sha256 for entry in store.entries()} == set(map(digest, bundles))
    assert all(store.get(digest(data)) == data for data in bundles)
    assert list((root / "writing").iterdir()) == []


DYING = """
import os, signal, sys
from pathlib import Path
from shared.deliveries.folder import Folder
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(os, sys.argv[2], die)
Folder(Path(sys.argv[1])).create(sys.argv[3], sys.stdin.buffer.read())
"""


def test_a_writer_that_is_killed_leaves_no_half_bundle(store: PatchStore, root: Path) -> None:
    """Killed as soon as the bytes are written, and just before they get their name."""
    for left, moment in enumerate(("fsync", "link"), 1):
        words = [sys.executable, "-c", DYING, str(root), moment, SHA256]
        if moment == "fsync":  # folders are there: the first call is that of the file
            store.put(pack(numbered(0)))
            file_of(root).parent.mkdir(exist_ok=True)
        done = subprocess.run(words, input=BYTES, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert store.verify(SHA256).condition is Condition.ABSENT
        assert len(list((root / "writing").iterdir())) == left
    store.put(BYTES)
    assert store.get(SHA256) == BYTES
    for name in (root / "writing").iterdir():
        os.utime(name, (OLD, OLD))
    assert store.gc(GcPolicy({SHA256}, AGE)).leftovers == 2
    assert store.gc(GcPolicy({SHA256}, AGE, apply=True)).leftovers == 2
    assert list((root / "writing").iterdir()) == []


@pytest.mark.parametrize("call", ["write", "fsync", "link"])
def test_a_full_disk_is_said_and_nothing_is_lost(
    store: PatchStore, root: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = pack(numbered(1))
    store.put(kept)
    open_file = Path.open

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open_full(self: Path, mode: str) -> IO[bytes]:
        file: IO[bytes] = open_file(self, mode)
        if mode == "xb":  # the file is there, and its disk has no room for a byte
            file.close()
            file = open_file(Path("/dev/full"), "wb")
        return file

    with monkeypatch.context() as patched:
        if call == "write":
            patched.setattr("shared.deliveries.folder.Path.open", open_full)
        else:
            patched.setattr(f"shared.deliveries.folder.os.{call}", full)
        with pytest.raises(Misconfigured, match="no room") as caught:
            store.put(BYTES)
    assert caught.value.stage == "store"
    assert str(caught.value.next_step).count("df -h")
    assert store.verify(SHA256).condition is Condition.ABSENT
    assert store.get(digest(kept)) == kept
    assert list((root / "writing").iterdir()) == []
    store.put(BYTES)


def test_a_store_that_could_not_be_begun_is_begun_later(
    store: PatchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when its disk is full, or somebody is killed, half-way through its folders."""
    make = Path.mkdir

    def full(self: Path, mode: int = 0o777, *, exist_ok: bool = False) -> None:
        if self.name == SHA256[:2]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        make(self, mode, exist_ok=exist_ok)

    with monkeypatch.context() as patched:
        patched.setattr("shared.deliveries.folder.Path.mkdir", full)
        with pytest.raises(Misconfigured, match="no room"):
            store.put(BYTES)
    store.put(BYTES)
    assert store.get(SHA256) == BYTES


def test_a_folder_that_cannot_be_one_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Misconfigured, match="cannot be written") as caught:
        PatchStore.open(str(tmp_path / "file")).put(BYTES)
    assert str(tmp_path / "file") in caught.value.reason


def test_a_file_system_without_links_does(
    store: PatchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr("shared.deliveries.folder.os.link", refuse)
    store.put(BYTES)
    store.put(BYTES)
    assert store.get(SHA256) == BYTES


def test_only_what_is_old_and_not_referred_to_goes(store: PatchStore, root: Path) -> None:
    referred, old, young = (pack(numbered(number)) for number in range(3))
    for data in (referred, old, young):
        store.put(data)
    for data in (referred, old):
        grow_old(root, digest(data))
    foretold = store.gc(GcPolicy({digest(referred)}, AGE))
    assert [entry.sha256 for entry in foretold.removed] == [digest(old)]
    assert (foretold.applied, foretold.referred, foretold.young) == (False, 1, 1)
    assert foretold.freed == len(old)
    assert len(list(store.entries())) == 3
    done = store.gc(GcPolicy({digest(referred)}, AGE, apply=True))
    assert [entry.sha256 for entry in done.removed] == [digest(old)]
    assert done.applied
    assert {e.sha256 for e in store.entries()} == {digest(referred), digest(young)}


def test_what_is_stored_again_counts_as_new(store: PatchStore, root: Path) -> None:
    """Its row may not be there yet."""
    store.put(BYTES)
    grow_old(root)
    store.put(BYTES)
    assert store.gc(GcPolicy((), AGE, apply=True)).removed == ()
    assert store.get(SHA256) == BYTES


def test_what_is_stored_again_while_others_are_removed_stays(
    store: PatchStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(BYTES)
    grow_old(root)
    listed = PatchStore.entries

    def stored_again(self: PatchStore) -> object:
        found = list(listed(self))
        store.put(BYTES)
        return found

    monkeypatch.setattr(PatchStore, "entries", stored_again)
    report = store.gc(GcPolicy((), AGE, apply=True))
    assert (report.removed, report.young) == ((), 1)
    assert store.get(SHA256) == BYTES


def test_no_bundle_goes_on_its_first_day(store: PatchStore) -> None:
    with pytest.raises(Rejected, match="stays"):
        store.gc(GcPolicy((), LEAST_AGE - 1, apply=True))


@pytest.mark.parametrize(
    "place",
    ["s3://", "s3://b", "s3://UPPER/x", "s3://bucket/a?b=c", "https://s3/x", "s3://k:s@b/x"],
)
def test_an_address_that_is_not_valid_is_refused(place: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        PatchStore.open(place)
    assert caught.value.stage == "config"


def test_the_cost_of_a_list_is_linear(
    store: PatchStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each folder is read once, and each bundle looked at once, however many there are."""
    store.put(BYTES)
    names = [digest(b"%d" % number) for number in range(1000)]
    for name in names:
        file_of(root, name).write_bytes(b"")
        grow_old(root, name)
    read: list[object] = []
    scan = os.scandir

    def counted(folder: "os.DirEntry[str]") -> object:
        read.append(folder)
        return scan(folder)

    monkeypatch.setattr("shared.deliveries.folder.os.scandir", counted)
    report = store.gc(GcPolicy({SHA256}, AGE, apply=True))
    assert [entry.sha256 for entry in report.removed] == sorted(names)
    assert len(read) == 1 + 256 + 1
