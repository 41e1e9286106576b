"""The patch store in a bucket: obstore's own client against a server of the protocol (S2.77)."""

import inspect
import re
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import obstore.exceptions
import pytest

from shared.deliveries import bucket
from shared.deliveries.bundle import digest, pack
from shared.deliveries.store import PatchStore
from shared.domain.errors import Misconfigured, Rejected, Unavailable
from shared.domain.patch_store import LEAST_AGE, Condition, GcPolicy, Stored
from tests.services.s3_server import S3Server, s3_server
from tests.unit.deliveries.given import BUNDLE, numbered

BYTES = pack(BUNDLE)
SHA256 = digest(BYTES)
KEY = f"sha256/{SHA256[:2]}/{SHA256}"
SECRET = "wJalrXUtnFEMI-never-shown"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        yield started


@pytest.fixture
def place(server: S3Server, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A bucket of its own, which the environment says how to reach."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    name = re.sub(r"[^a-z]+", "-", request.node.name)[:60].strip("-")
    server.request("PUT", f"/{name}")
    return f"s3://{name}/below/this"


def grow_old(server: S3Server, place: str, sha256: str) -> None:
    """Let a bundle have been stored two days ago."""
    name, _, prefix = place.removeprefix("s3://").partition("/")
    key = f"{prefix}/sha256/{sha256[:2]}/{sha256}"
    server.stored(name, key, datetime.now(UTC) - timedelta(seconds=2 * LEAST_AGE))


def test_attestations_are_beside_the_bundles(place: str, server: S3Server) -> None:
    store, tree = PatchStore.open(place), "a" * 40
    where = store.attest(tree, {"payload": "x"})
    assert store.attest(tree, {"payload": "x"}) == where
    assert where.startswith(f"{place}/attestations/{tree}/")
    assert server.request("GET", "/" + where.removeprefix("s3://")) == b'{"payload":"x"}\n'
    assert list(store.entries()) == []


def test_what_was_put_can_be_had_by_everybody(place: str, server: S3Server) -> None:
    stored = PatchStore.open(place).put(BYTES)
    assert stored == Stored(f"{place}/{KEY}", SHA256, len(BYTES))
    assert server.request("GET", f"/{place.removeprefix('s3://')}/{KEY}") == BYTES
    other = PatchStore.open(place)
    assert other.get(SHA256) == BYTES
    assert other.put(BYTES) == stored
    assert [(e.sha256, e.size) for e in other.entries()] == [(SHA256, len(BYTES))]
    assert other.verify("0" * 64).condition is Condition.ABSENT
    with pytest.raises(Rejected, match="is not in the store"):
        other.get("0" * 64)
    assert list(PatchStore.open(f"{place}/elsewhere").entries()) == []


def test_a_bundle_that_was_changed_there_is_refused_and_never_written_over(
    place: str, server: S3Server
) -> None:
    store = PatchStore.open(place)
    store.put(BYTES)
    path = f"/{place.removeprefix('s3://')}/{KEY}"
    server.request("PUT", path, b"changed")
    assert store.verify(SHA256).condition is Condition.CHANGED
    with pytest.raises(Rejected, match="was changed in the store"):
        store.get(SHA256)
    with pytest.raises(Misconfigured, match="Move it away"):
        store.put(BYTES)
    assert server.request("GET", path) == b"changed"


def test_writers_at_once_store_one_bundle(place: str) -> None:
    start = threading.Barrier(4)
    stored: list[Stored] = []

    def write() -> None:
        store = PatchStore.open(place)
        start.wait()
        stored.append(store.put(BYTES))

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(stored) == 4
    assert [entry.sha256 for entry in PatchStore.open(place).entries()] == [SHA256]


def test_what_is_old_and_not_referred_to_goes(place: str, server: S3Server) -> None:
    store = PatchStore.open(place)
    kept, young = pack(numbered(1)), pack(numbered(2))
    for data in (BYTES, kept, young):
        store.put(data)
    server.request("PUT", f"/{place.removeprefix('s3://')}/sha256/notes.txt", b"not ours")
    for data in (BYTES, kept):
        grow_old(server, place, digest(data))
    report = store.gc(GcPolicy({digest(kept)}, LEAST_AGE, apply=True))
    assert [entry.sha256 for entry in report.removed] == [SHA256]
    assert (report.freed, report.referred, report.young) == (len(BYTES), 1, 1)
    assert {entry.sha256 for entry in store.entries()} == {digest(kept), digest(young)}


def test_what_is_stored_again_counts_as_new(place: str, server: S3Server) -> None:
    """Its row may not be there yet."""
    store = PatchStore.open(place)
    store.put(BYTES)
    grow_old(server, place, SHA256)
    store.put(BYTES)
    assert store.gc(GcPolicy((), LEAST_AGE, apply=True)).removed == ()
    assert store.get(SHA256) == BYTES


@pytest.mark.usefixtures("place")
def test_a_bucket_that_is_not_there_is_said() -> None:
    store = PatchStore.open("s3://no-such-bucket")
    for use in (
        lambda: store.put(BYTES),
        lambda: store.get(SHA256),
        lambda: list(store.entries()),
    ):
        with pytest.raises(Misconfigured, match="there is no such bucket") as caught:
            use()
        assert caught.value.next_step


def test_a_server_that_is_away_is_waited_for(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setattr(bucket, "_RETRIES", 0)
    store = PatchStore.open(place)
    for use in (lambda: store.put(BYTES), lambda: store.get(SHA256), lambda: list(store.entries())):
        with pytest.raises(Unavailable) as caught:
            use()
        assert caught.value.stage == "store"
        assert SECRET not in caught.value.reason


def test_a_key_that_is_refused_is_said_and_never_shown(place: str, server: S3Server) -> None:
    store = PatchStore.open(place)
    with server.closed_to_strangers():
        for use in (lambda: store.put(BYTES), lambda: store.get(SHA256)):
            with pytest.raises(Misconfigured, match="403") as caught:
                use()
            assert SECRET not in caught.value.reason
            assert caught.value.next_step
    assert store.verify(SHA256).condition is Condition.ABSENT


def test_a_key_that_was_forgotten_is_said(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library then asks the machine for its role, which says nothing to most people."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr(bucket, "_RETRIES", 0)
    with pytest.raises(Unavailable, match="AWS_ACCESS_KEY_ID is not set"):
        PatchStore.open(place).put(BYTES)


def test_every_error_of_the_library_has_a_meaning() -> None:
    """A new one has to be sorted by who must act."""
    known = inspect.getmembers(obstore.exceptions, inspect.isclass)
    names = {name for name, kind in known if issubclass(kind, obstore.exceptions.BaseError)}
    assert names - {"BaseError"} == bucket.ERRORS.keys()


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(Misconfigured, match="needs the library obstore"):
        PatchStore.open("s3://bucket")
