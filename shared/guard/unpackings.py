"""Archives of others: what they may do as they are unpacked, apart from being run."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from shared.domain.provenance import Mark, MarkKind
from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.policy.allowlist import Coverage
from shared.guard.policy.downloaded import kept_as
from shared.guard.provenance_paths import folders_above, meet, overlap, placed

RULE = "unpacked-place"

_ARCHIVES = frozenset({"local-read", "read"})
_UNPACKERS = frozenset({"tar", "unzip"})
_KEEPS = re.compile(r"-[A-Za-z]*p[A-Za-z]*|--(?:same|preserve)\S*")
_KEEPS_FIRST = re.compile(r"[A-Za-z]*p[A-Za-z]*")
"""The old way to write tar's letters, as its first word."""

_ELSEWHERE = frozenset({MarkKind.COPIED, MarkKind.LINK})
_MOST_ROUNDS = 4
_MOST_NAMES = 64
_ANYWHERE = "*"


@dataclass(frozen=True, slots=True)
class Unpacking:
    """An archive that is unpacked `into` a folder, both in the notation of marks.

    `archive` is empty if it is not known. `keeps_modes`: what is unpacked gets the modes in the
    archive where root unpacks it. `part` is the piece of the text.
    """

    archive: str
    into: str
    keeps_modes: bool
    part: str


def unpackings(covered: Coverage) -> Iterator[Unpacking]:
    """What a run that a rule allows unpacks."""
    run = covered.run
    if run.program not in _UNPACKERS or covered.allowance is None or not covered.allowance.brings:
        return
    keeps = run.program == "tar" and _keeps_modes([*map(str, run.argv[1:])])
    archives = [each.word for each in covered.held if each.kind in _ARCHIVES][:1]
    for into in [each.word for each in covered.held if each.kind == "into"]:
        for here in run.directories:
            archive = placed(archives[0], here) if archives else ""
            yield Unpacking(archive, placed(into, here), keeps, run.part)


def _keeps_modes(words: list[str]) -> bool:
    """Whether root's tar keeps them: it does unless told otherwise, and the last word counts."""
    if any(map(_KEEPS.fullmatch, words)) or (words and _KEEPS_FIRST.fullmatch(words[0])):
        return True
    return "--no-same-permissions" not in words


def fetched(covered: Coverage) -> Iterator[str]:
    """Where a run keeps what it gets from another host."""
    run = covered.run
    for word in kept_as(run) if run.argv else ():
        for here in run.directories:
            yield placed(word, here)


def unpacking_objection(
    mine: Collection[Unpacking],
    others: Collection[Unpacking],
    got: Collection[str],
    here: Collection[Mark] = (),
    earlier: Collection[Mark] = (),
) -> Verdict | None:
    """Why a text that unpacks these needs a person, beside all that a plan unpacks and has got.

    `here` is what the plan leaves and copies, `earlier` what earlier tasks left. None if it needs
    nobody.
    """
    if not mine:
        return None
    written = {mark.path for mark in earlier if mark.kind is MarkKind.WRITTEN}
    moves = _Moves(mark for mark in (*here, *earlier) if mark.kind in _ELSEWHERE)
    strange = _names({*got, *written}, moves)
    packed = {mark.path for mark in (*here, *earlier) if mark.kind is MarkKind.PACKED}
    own = {path for path in packed if not any(overlap(path, place) for place in strange)}
    brought = [m for m in earlier if m.kind is MarkKind.BROUGHT]
    for each in mine:
        # A backup of the host itself may be unpacked where it was unpacked before.
        left = [m.path for m in brought if m.target != each.archive or each.archive not in own]
        if told := _of_modes(each, strange) or _of_links(each, others, left, moves):
            return Verdict(VerdictKind.APPROVE, RULE, told, each.part)
    return None


def _of_modes(mine: Unpacking, strange: Iterable[str]) -> str | None:
    """Root's tar sets the bits that let everybody run a program as its owner."""
    if not mine.keeps_modes or not any(overlap(mine.archive, place) for place in strange):
        return None
    return (
        f"{mine.archive} was brought here, and tar may keep modes that let everybody run a"
        " program as root: --no-same-permissions drops them"
    )


def _of_links(
    mine: Unpacking,
    others: Iterable[Unpacking],
    brought: Iterable[str],
    moves: "_Moves",
) -> str | None:
    """An archive may hold a link, and the next one a file that is written through it."""
    there = [each.into for each in others if not (mine.archive and each.archive == mine.archive)]
    there += brought
    into = _names([mine.into], moves)
    for folder in there:
        if any(meet(one, other) for one in _names([folder], moves) for other in into):
            return (
                f"{folder} holds what another archive has brought: what {mine.archive or 'this'}"
                " holds may be written through a link of it"
            )
    return None


class _Moves:
    """The copies, moves and links of plans."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        self._to: dict[str, list[str]] = defaultdict(list)
        for mark in marks:
            self._to[mark.target].append(mark.path)
        self._wild = [target for target in self._to if "*" in target]

    def of(self, place: str) -> Iterator[str]:
        """The names of a place after one of them: as the target itself, or in it as a folder."""
        for at in (place, *folders_above(place)):
            rest, last = place[len(at) :], at.rpartition("/")[2]
            for target in self._targets(at):
                for path in self._to[target]:
                    yield f"{path}{rest}"
                    yield f"{path}/{last}{rest}"

    def _targets(self, at: str) -> Iterator[str]:
        if "*" in at:
            yield from (target for target in self._to if overlap(target, at))
            return
        if at in self._to:
            yield at
        yield from (target for target in self._wild if overlap(target, at))


def _names(places: Collection[str], moves: _Moves) -> frozenset[str]:
    """The places, and the names that they, or what lies in them, have after those moves.

    Of more names than anybody gives, it is said that they may be any.
    """
    found = {*places}
    for _ in range(_MOST_ROUNDS):
        more = {name for place in found for name in moves.of(place)} - found
        if not more:
            break
        if len(found) + len(more) > max(_MOST_NAMES, 4 * len(places)):
            return frozenset({*found, _ANYWHERE})
        found |= more
    return frozenset(found)
