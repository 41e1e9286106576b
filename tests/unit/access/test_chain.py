"""The chain of the audit: whatever is changed, taken out or moved in it is found and named."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.access.chain import (
    NOTHING,
    Anchor,
    AuditEntry,
    ChainFault,
    digest,
    faults,
    parse_anchor,
)
from shared.domain.errors import Rejected

BEGUN = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)

CHANGES: list[Callable[[AuditEntry], AuditEntry]] = [
    lambda link: replace(link, actor="eve@box"),
    lambda link: replace(link, verb="task.show"),
    lambda link: replace(link, ref="T999"),
    lambda link: replace(link, details='{"a": 1}'),
    lambda link: replace(link, at=BEGUN),
]


def chained(verbs: Sequence[str]) -> list[AuditEntry]:
    """A chain as it is written."""
    links: list[AuditEntry] = []
    last = NOTHING
    for number, verb in enumerate(verbs, start=1):
        at = BEGUN + timedelta(seconds=number)
        bare = AuditEntry(number, at, "ann@box", verb, f"T{number}", "{}", last.hash, b"")
        links.append(replace(bare, hash=digest(bare)))
        last = Anchor(number, links[-1].hash)
    return links


def head_of(links: Sequence[AuditEntry]) -> Anchor:
    return Anchor(links[-1].seq, links[-1].hash) if links else NOTHING


def found(
    links: Sequence[AuditEntry], head: Anchor, anchor: Anchor | None = None
) -> list[ChainFault]:
    return list(faults(links, head, anchor))


verbs = st.lists(st.sampled_from(["task.submit", "task.cancel", "host.add"]), min_size=2)


@given(st.lists(st.text()))
def test_a_chain_as_it_was_written_is_whole(said: list[str]) -> None:
    links = chained(said)
    assert found(links, head_of(links)) == []
    for link in links:
        assert found(links, head_of(links), Anchor(link.seq, link.hash)) == []


@given(verbs, st.data())
def test_a_changed_entry_is_named(said: list[str], data: st.DataObject) -> None:
    links = chained(said)
    place = data.draw(st.integers(0, len(links) - 1))
    change = data.draw(st.sampled_from(CHANGES))
    changed = [*links]
    changed[place] = change(links[place])
    assert [fault.seq for fault in found(changed, head_of(links))] == [place + 1]


@given(verbs, st.data())
def test_an_entry_that_was_changed_with_its_hash_is_found_at_the_next_or_at_the_head(
    said: list[str], data: st.DataObject
) -> None:
    links = chained(said)
    place = data.draw(st.integers(0, len(links) - 1))
    forged = replace(links[place], actor="eve@box")
    changed = [*links]
    changed[place] = replace(forged, hash=digest(forged))
    last = place == len(links) - 1
    assert [fault.seq for fault in found(changed, head_of(links))] == [
        place + 1 if last else place + 2
    ]


@given(verbs, st.data())
def test_an_entry_that_is_gone_is_named(said: list[str], data: st.DataObject) -> None:
    links = chained(said)
    place = data.draw(st.integers(0, len(links) - 1))
    (fault,) = found(links[:place] + links[place + 1 :], head_of(links))
    assert f"entry {place + 1} is missing" in fault.reason


@given(verbs, st.data())
def test_entries_that_changed_places_are_named(said: list[str], data: st.DataObject) -> None:
    """As somebody would do it who exchanges their numbers."""
    links = chained(said)
    one = data.draw(st.integers(0, len(links) - 2))
    two = data.draw(st.integers(one + 1, len(links) - 1))
    moved = [*links]
    moved[one] = replace(links[two], seq=one + 1)
    moved[two] = replace(links[one], seq=two + 1)
    named = {fault.seq for fault in found(moved, head_of(links))}
    assert {one + 1, two + 1} <= named


def test_what_is_cut_off_at_the_end_is_missing() -> None:
    links = chained(["a", "b", "c", "d"])
    assert found(links[:2], head_of(links)) == [
        ChainFault(4, "entries 3 to 4 are missing at the end")
    ]
    assert found([], head_of(links)) == [ChainFault(4, "entries 1 to 4 are missing at the end")]


def test_what_was_put_behind_the_head_is_found() -> None:
    links = chained(["a", "b", "c"])
    assert found(links, head_of(links[:2])) == [
        ChainFault(3, "the chain does not end where its head says")
    ]


def test_a_chain_that_was_written_anew_is_found_by_its_anchor() -> None:
    links = chained(["a", "b", "c"])
    anew = chained(["a", "x", "c"])
    assert found(anew, head_of(anew)) == []
    anchor = Anchor(2, links[1].hash)
    assert found(anew, head_of(anew), anchor) == [
        ChainFault(2, "it is another than the one that the anchor names")
    ]
    assert found(anew[:1], head_of(anew[:1]), anchor) == [
        ChainFault(2, "the entry that the anchor names is gone")
    ]


def test_a_moment_is_the_same_in_every_zone() -> None:
    (link,) = chained(["a"])
    elsewhere = replace(link, at=link.at.astimezone(timezone(timedelta(hours=5))))
    assert digest(elsewhere) == link.hash


def test_an_anchor_is_read_as_it_is_printed() -> None:
    anchor = head_of(chained(["a", "b"]))
    assert parse_anchor(str(anchor)) == anchor


@pytest.mark.parametrize("text", ["", "7", "7:", "7:zz", "x:" + "0" * 64, "-1:" + "0" * 64, "7:00"])
def test_what_is_no_anchor_is_refused(text: str) -> None:
    with pytest.raises(Rejected, match="is not a valid anchor"):
        parse_anchor(text)
