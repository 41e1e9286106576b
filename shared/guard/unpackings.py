"""Archives of others: what they may do as they are unpacked, apart from being run."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from shared.domain.provenance import Mark, MarkKind
from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.policy.allowlist import Coverage
from shared.guard.policy.downloaded import kept_as
from shared.guard.provenance_paths import folders_above, placed

RULE = "unpacked-place"

_ARCHIVES = frozenset({"local-read", "read"})
_UNPACKERS = frozenset({"tar", "unzip"})


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
    keeps = run.program == "tar" and "--no-same-permissions" not in map(str, run.argv)
    archives = [each.word for each in covered.held if each.kind in _ARCHIVES][:1]
    for into in [each.word for each in covered.held if each.kind == "into"]:
        for here in run.directories:
            archive = placed(archives[0], here) if archives else ""
            yield Unpacking(archive, placed(into, here), keeps, run.part)


def fetched(covered: Coverage) -> Iterator[str]:
    """Where a run keeps what it gets from another host."""
    run = covered.run
    for word in kept_as(run) if run.argv else ():
        for here in run.directories:
            yield placed(word, here)


def unpacking_objection(
    mine: Iterable[Unpacking],
    others: Collection[Unpacking],
    got: Collection[str],
    earlier: Collection[Mark] = (),
) -> Verdict | None:
    """Why a text that unpacks these needs a person, beside all that a plan unpacks and has got.

    `earlier` is what earlier tasks left. None if it needs nobody.
    """
    for each in mine:
        if told := _of_modes(each, got, earlier) or _of_links(each, others, earlier):
            return Verdict(VerdictKind.APPROVE, RULE, told, each.part)
    return None


def _of_modes(mine: Unpacking, got: Collection[str], earlier: Collection[Mark]) -> str | None:
    """Root's tar sets the bits that let everybody run a program as its owner."""
    if not mine.keeps_modes:
        return None
    written = {mark.path for mark in earlier if mark.kind is MarkKind.WRITTEN}
    if mine.archive in got or mine.archive in written:
        return (
            f"{mine.archive} was brought here, and tar may keep modes that let everybody run a"
            " program as root: --no-same-permissions drops them"
        )
    return None


def _of_links(mine: Unpacking, others: Iterable[Unpacking], earlier: Iterable[Mark]) -> str | None:
    """An archive may hold a link, and the next one a file that is written through it."""
    there = [each.into for each in others if not (mine.archive and each.archive == mine.archive)]
    there += [mark.path for mark in earlier if mark.kind is MarkKind.BROUGHT]
    for folder in there:
        if _is_around(folder, mine.into) or _is_around(mine.into, folder):
            return (
                f"{folder} holds what another archive has brought: what {mine.archive or 'this'}"
                " holds may be written through a link of it"
            )
    return None


def _is_around(folder: str, place: str) -> bool:
    return folder == place or folder in folders_above(place)
