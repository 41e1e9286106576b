"""Bundle v1: one form for each delivery, and nothing else is read (S2.36-S2.38)."""

import io
import json
import os
import subprocess
import tarfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.deliveries import bundle as bundles
from shared.deliveries.bundle import Bundle, Meta, Stats, pack, unpack
from shared.domain.errors import Rejected
from tests.unit.deliveries.given import BUNDLE, DELIVERABLES, META, PATCH

ids = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=40)
shas = st.text("0123456789abcdef", min_size=40, max_size=40)
moments = st.datetimes(
    min_value=datetime(1970, 1, 2),  # noqa: DTZ001 - the zone comes from the strategy
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))]),
)
metas = st.builds(
    Meta,
    project_id=ids,
    session_id=ids,
    attempt_id=ids,
    issue_id=st.integers(0, 10**8).map(lambda number: f"L-{number:06}"),
    base_sha=shas,
    result_tree=shas,
    created_at=moments,
)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, width=32)
texts = st.text(st.characters(codec="utf-8"))
values = st.recursive(
    leaves.filter(lambda leaf: leaf not in {float("inf"), float("-inf")}) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
built = st.builds(
    Bundle,
    meta=metas,
    patch=st.binary().map(lambda rest: b"diff --git " + rest) | st.just(b""),
    deliverables=st.dictionaries(texts, values, max_size=4),
    stats=st.none() | st.builds(Stats, *[st.integers(0, 10**12)] * 3),
)


@settings(deadline=None)
@given(built)
def test_what_was_packed_is_unpacked(bundle: Bundle) -> None:
    assert unpack(pack(bundle)) == bundle


@settings(deadline=None)
@given(built, st.data())
def test_whatever_is_unpacked_has_the_one_form(bundle: Bundle, data: st.DataObject) -> None:
    """A byte that is changed, removed or added makes another bundle, or none."""
    packed = pack(bundle)
    at = data.draw(st.integers(0, len(packed) - 1))
    cut = data.draw(st.integers(0, 2))
    changed = packed[:at] + data.draw(st.binary(max_size=2)) + packed[at + cut :]
    try:
        found = unpack(changed)
    except Rejected:
        return
    assert pack(found) == changed


@settings(deadline=None)
@given(st.binary(max_size=2000))
def test_no_bytes_make_it_fail_in_another_way(data: bytes) -> None:
    with pytest.raises(Rejected) as caught:
        unpack(data)
    assert caught.value.stage == "bundle"
    assert caught.value.next_step


def test_the_bytes_are_the_same_everywhere() -> None:
    """The digest is the identity of a delivery: it must not depend on the version of anything."""
    known = "d2a9c1412a1eca221be476d51c7171c5c4b5910e4792009dba3b23f383483553"
    assert bundles.digest(pack(BUNDLE)) == known
    turned = replace(META, created_at=META.created_at.astimezone(timezone(timedelta(hours=-3))))
    reordered = dict(reversed(DELIVERABLES.items()))
    assert pack(Bundle(turned, PATCH, reordered, BUNDLE.stats)) == pack(BUNDLE)


def test_other_programs_read_it(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar"
    path.write_bytes(pack(BUNDLE))
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        assert [member.name for member in members] == [
            "deliverables.json",
            "meta.json",
            "patch.diff",
            "stats.json",
        ]
        assert {(m.mtime, m.uid, m.gid, m.uname, m.mode) for m in members} == {(0, 0, 0, "", 0o644)}
        patch = archive.extractfile("patch.diff")
        assert patch is not None
        assert patch.read() == PATCH
        meta = archive.extractfile("meta.json")
        assert meta is not None
        assert json.load(meta)["created_at"] == "2026-11-23T01:02:03+00:00"
    words = ("tar", "-xOf", str(path), "patch.diff")
    done = subprocess.run(words, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (PATCH, b"")


def test_statistics_may_be_missing() -> None:
    without = replace(BUNDLE, stats=None)
    assert unpack(pack(without)) == without


def test_a_patch_of_many_megabytes_is_carried() -> None:
    large = replace(BUNDLE, patch=b"diff --git " + os.urandom(1 << 20) * 40)
    assert unpack(pack(large)) == large


def archive(*members: tarfile.TarInfo, form: int = tarfile.USTAR_FORMAT, mode: str = "w:") -> bytes:
    """What `tarfile` makes of these members; each plain file has the bytes of a bundle's."""
    contents = parts()
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode=mode, format=form) as file:  # type: ignore[call-overload]
        for member in members:
            content = contents.get(member.name, b"")
            member.size = len(content) if member.isreg() else 0
            file.addfile(member, io.BytesIO(content))
    return written.getvalue()


def parts() -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(pack(BUNDLE))) as file:
        read = {member.name: file.extractfile(member) for member in file.getmembers()}
        return {name: part.read() for name, part in read.items() if part is not None}


def plain(name: str, **more: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mode = 0o644
    for field, value in more.items():
        setattr(info, field, value)
    return info


GOOD = ("deliverables.json", "meta.json", "patch.diff", "stats.json")


def hostile() -> dict[str, bytes]:
    packed = pack(BUNDLE)
    others = [plain(name) for name in GOOD[1:]]
    header = bundles._header("patch.diff", len(PATCH))
    huge = bundles._header("patch.diff", 8**11 - 1)
    negative = header[:124] + b"\xff" * 12 + header[136:]
    return {
        "absolute name": archive(plain("/meta.json"), *others),
        "parent folder": archive(plain("../deliverables.json"), *others),
        "another folder": archive(plain("./deliverables.json"), *others),
        "extra member before": archive(plain("a.txt"), *map(plain, GOOD)),
        "extra member behind": archive(*map(plain, GOOD), plain("z.sh")),
        "twice the same": archive(*map(plain, (*GOOD, "stats.json"))),
        "another order": archive(*map(plain, reversed(GOOD))),
        "symlink": archive(plain(GOOD[0], type=tarfile.SYMTYPE, linkname="/etc/passwd"), *others),
        "hard link": archive(plain(GOOD[0], type=tarfile.LNKTYPE, linkname="meta.json"), *others),
        "device": archive(plain(GOOD[0], type=tarfile.CHRTYPE), *others),
        "fifo": archive(plain(GOOD[0], type=tarfile.FIFOTYPE), *others),
        "folder": archive(plain(GOOD[0], type=tarfile.DIRTYPE), *others),
        "executable": archive(plain(GOOD[0], mode=0o755), *others),
        "setuid": archive(plain(GOOD[0], mode=0o4644), *others),
        "owner": archive(plain(GOOD[0], uid=1000), *others),
        "time": archive(plain(GOOD[0], mtime=1), *others),
        "pax": archive(plain(GOOD[0], pax_headers={"path": "é"}), *others, form=tarfile.PAX_FORMAT),
        "global pax": archive(
            plain(GOOD[0], type=tarfile.XGLTYPE), *map(plain, GOOD), form=tarfile.PAX_FORMAT
        ),
        "gnu": archive(*map(plain, GOOD), form=tarfile.GNU_FORMAT),
        "gnu long name": archive(plain("x" * 120), *map(plain, GOOD), form=tarfile.GNU_FORMAT),
        "records": archive(*map(plain, GOOD)),
        "gzip": archive(*map(plain, GOOD), mode="w:gz"),
        "xz": archive(*map(plain, GOOD), mode="w:xz"),
        "no end": packed[:-1024],
        "half an end": packed[:-512],
        "more behind the end": packed + b"\0",
        "another bundle behind": packed + packed,
        "empty": b"",
        "only an end": bytes(1024),
        "huge": packed.replace(header, huge),
        "negative": packed.replace(header, negative),
        "wrong sum": packed.replace(header, header[:150] + b"7" + header[151:]),
        "hidden in padding": packed.replace(PATCH + bytes(4), PATCH + b"evil"),
        "zip": b"PK\x03\x04" + bytes(2000),
    }


HOSTILE = hostile()


@pytest.mark.parametrize("name", HOSTILE)
def test_an_archive_in_any_other_form_is_refused(name: str) -> None:
    with pytest.raises(Rejected, match="is not a valid bundle"):
        unpack(HOSTILE[name])


def test_every_bundle_that_was_cut_off_is_refused() -> None:
    packed = pack(BUNDLE)
    for length in range(0, len(packed), 7):
        with pytest.raises(Rejected):
            unpack(packed[:length])


def with_member(name: str, content: bytes) -> bytes:
    """The bundle with other bytes in a member."""
    held = {**parts(), name: content}
    blocks = [
        part
        for each, text in held.items()
        for part in (bundles._header(each, len(text)), text, bytes(-len(text) % 512))
    ]
    return b"".join([*blocks, bytes(1024)])


def text(value: object) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


KNOWN = json.loads(parts()["meta.json"])
METAS = {
    "newer version": text({**KNOWN, "schema_version": 2}),
    "true is not 1": text({**KNOWN, "schema_version": True}),
    "no version": text({k: v for k, v in KNOWN.items() if k != "schema_version"}),
    "missing field": text({k: v for k, v in KNOWN.items() if k != "base_sha"}),
    "more fields": text({**KNOWN, "path": "/etc"}),
    "number for an id": text({**KNOWN, "project_id": 7}),
    "empty id": text({**KNOWN, "session_id": ""}),
    "long id": text({**KNOWN, "session_id": "x" * 501}),
    "line break in an id": text({**KNOWN, "attempt_id": "a\nb"}),
    "no issue": text({**KNOWN, "issue_id": "123"}),
    "short id of an object": text({**KNOWN, "base_sha": "abc"}),
    "option of git": text({**KNOWN, "base_sha": "--upload-pack=evil"}),
    "capital letters": text({**KNOWN, "result_tree": "A" * 40}),
    "no zone": text({**KNOWN, "created_at": "2026-11-23T01:02:03"}),
    "another zone": text({**KNOWN, "created_at": "2026-11-23T02:02:03+01:00"}),
    "before all time": text({**KNOWN, "created_at": "0001-01-01T00:00:00+14:00"}),
    "no time": text({**KNOWN, "created_at": None}),
    "a list": text([KNOWN]),
    "other spaces": json.dumps(KNOWN).encode(),
    "twice a key": text(KNOWN).replace(b"{", b'{\n  "attempt_id": "other",', 1),
    "mark of byte order": b"\xef\xbb\xbf" + text(KNOWN),
    "other encoding": text(KNOWN).decode().encode("utf-16"),
    "not UTF-8": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "empty": b"",
}


@pytest.mark.parametrize("name", METAS)
def test_a_meta_in_any_other_form_is_refused(name: str) -> None:
    with pytest.raises(Rejected):
        unpack(with_member("meta.json", METAS[name]))


@pytest.mark.parametrize(
    "content",
    [
        b'{\n  "a": NaN\n}\n',
        b'{\n  "a": 1e999\n}\n',
        b'{\n  "a": "\\ud800"\n}\n',
        b'{\n  "a": ' + b"9" * 5000 + b"\n}\n",
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        b"null\n",
    ],
    ids=["nan", "infinite", "half a character", "endless number", "deep", "null"],
)
def test_deliverables_in_any_other_form_are_refused(content: bytes) -> None:
    with pytest.raises(Rejected):
        unpack(with_member("deliverables.json", content))


@pytest.mark.parametrize(
    "content", [{"files": 1}, {"files": -1, "added": 0, "deleted": 0}, {"files": True}, {"x": 1}]
)
def test_statistics_in_any_other_form_are_refused(content: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        unpack(with_member("stats.json", text(content)))


def test_a_patch_has_the_form_of_git() -> None:
    with pytest.raises(Rejected, match="git's form"):
        unpack(with_member("patch.diff", b"--- a/x\n+++ b/x\n"))


@pytest.mark.parametrize(
    "changed",
    [
        replace(BUNDLE, deliverables={"a": float("nan")}),
        replace(BUNDLE, deliverables={"a": "\ud800"}),
        replace(BUNDLE, deliverables={"a": object()}),
        replace(BUNDLE, patch=b"x"),
        replace(BUNDLE, stats=Stats(-1, 0, 0)),
        replace(BUNDLE, meta=replace(META, schema_version=2)),
        replace(BUNDLE, meta=replace(META, base_sha="HEAD")),
        replace(BUNDLE, meta=replace(META, issue_id="L-1")),
        replace(BUNDLE, meta=replace(META, created_at=datetime(2026, 1, 1))),  # noqa: DTZ001
    ],
)
def test_what_could_not_be_unpacked_is_not_packed(changed: Bundle) -> None:
    with pytest.raises(Rejected, match="is not a valid bundle"):
        pack(changed)


def test_what_is_too_large_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pack(BUNDLE)
    monkeypatch.setitem(bundles._LIMITS, "patch.diff", len(PATCH) - 1)
    with pytest.raises(Rejected, match="at most"):
        unpack(packed)
    with pytest.raises(Rejected, match="at most"):
        pack(BUNDLE)
