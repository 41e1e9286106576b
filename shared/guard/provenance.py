"""Compares what a text uses on a host with what plans have left there."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from shared.domain.provenance import Mark, MarkKind
from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.programs.runners import is_data, is_served, is_static, is_template, steers
from shared.guard.provenance_paths import (
    above,
    folders_above,
    meet,
    names_from_start,
    names_of_home,
    overlap,
)
from shared.guard.traces import Use, UseKind

_MOST_WAYS = 16
_MOST_ROUNDS = 4
_TREES = frozenset({MarkKind.COPIED, MarkKind.BROUGHT, MarkKind.CHECKED_OUT})
_UNSEEN = frozenset({MarkKind.BROUGHT, MarkKind.CHECKED_OUT})
_NOT_FOLLOWED = frozenset({"delete", "purge", "moved"})
_OPEN_PLACE = re.compile(r"(?:/var)?/tmp/|/dev/shm/|/home/|\*")
_CODE_PLACES = ("~", "/srv", "/opt", "/var/www")

Held = Callable[[str, str], str | None]
"""Why a path is not allowed as a kind of operand, or None."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who left a mark: the plan itself (`task` is empty), or an earlier task."""

    task: str = ""

    def __str__(self) -> str:
        """The words for a reason."""
        return f"the task {self.task}" if self.task else "the plan itself"


class Provenance:
    """Everything that plans have left on one host.

    `near` is True for the marks of the plan at hand: then whatever lies in the places of projects
    counts for a service that is started; of earlier tasks only what has its name. `start` is the
    folder in which commands start, in the notation of marks; empty if it is not known.
    """

    def __init__(
        self,
        marks: Iterable[Mark],
        origin: Origin | dict[Mark, Origin],
        *,
        near: bool = True,
        start: str = "",
    ) -> None:
        """Index the marks."""
        self._near = near
        self._start = start
        self._origins = origin
        self._exact: dict[str, list[Mark]] = {}
        self._ends: dict[str, list[Mark]] = {}
        self._below: dict[str, list[Mark]] = {}
        self._wild: list[Mark] = []
        self._links: dict[str, list[str]] = {}
        self._as_left: dict[Mark, Mark] = {}
        for mark in _settled(list(dict.fromkeys(self._renamed(marks))), start):
            self._add(mark)

    def __bool__(self) -> bool:
        """True when anything was left at all."""
        return bool(self._exact or self._wild)

    def _renamed(self, marks: Iterable[Mark]) -> Iterator[Mark]:
        """The marks, and the same under the other names of their places."""
        for mark in marks:
            yield mark
            for name in names_from_start(mark.path, self._start):
                other = replace(mark, path=name)
                self._as_left.setdefault(other, mark)
                yield other

    def _add(self, mark: Mark) -> None:
        if mark.kind is MarkKind.LINK:
            self._links.setdefault(mark.path, []).append(mark.target)
        if "*" in mark.path:
            self._wild.append(mark)
        self._exact.setdefault(mark.path, []).append(mark)
        for name in names_of_home(mark.path):
            self._ends.setdefault(name, []).append(mark)
        for folder in folders_above(mark.path):
            self._below.setdefault(folder, []).append(mark)

    def objection(self, uses: Iterable[Use], held: Held) -> Verdict | None:
        """Why a text with these uses needs a person; None if it does not."""
        for use in uses:
            if why := self._of_use(use, held):
                return Verdict(VerdictKind.APPROVE, why[0], why[1], use.part)
        return None

    def _of_use(self, use: Use, held: Held) -> tuple[str, str] | None:
        for folder in use.climbs:
            if folder in self._links or self._through(folder) or self._unseen_above(folder):
                return "link", f"`..` leads out of {folder}, which may be a link"
        match use.kind:
            case UseKind.RUNS:
                return self._of_run(use, held)
            case UseKind.LOOKS_FOR_CODE:
                return self._of_folder(use, held)
            case UseKind.CHANGES:
                return self._of_change(use, held)
            case UseKind.STARTS:
                return self._of_service(use)
            case UseKind.FETCHES:
                return self._of_page(use)
            case UseKind.SHOWS:
                return self._of_shown(use, held)

    def _of_run(self, use: Use, held: Held) -> tuple[str, str] | None:
        for path in self._ways(use.path):
            if path != use.path and use.sure and (why := held("script", path)):
                return "link", f"{use.path} is a link that was made here: {why}"
            mark = self._at(path) or (self._around(path) if use.how != "name" else None)
            if mark is None and use.sure:
                mark = self._inside(path)
            if mark is not None:
                return self._ran(mark)
        return None

    def _ran(self, mark: Mark) -> tuple[str, str]:
        left = self._left(mark)
        told = f"it may run {left.path}, which {self._origin(left)} has written or brought there"
        return "written-script", told

    def _of_folder(self, use: Use, held: Held) -> tuple[str, str] | None:
        for path in self._ways(use.path):
            if path != use.path and use.steering is None and (why := held("script", path)):
                return "link", f"{use.path} is a link that was made here: {why}"
            mark = self._steering(path, use)
            if mark is not None:
                left = self._left(mark)
                told = (
                    f"it looks in {use.path} for what it runs, and {self._origin(left)} has written"
                    f" or brought {left.path}"
                )
                return "written-script", told
        return None

    def _steering(self, folder: str, use: Use) -> Mark | None:
        """What a program that runs code of its folder may find there, or above."""
        around = [folder, *self._folders_above(folder)]
        for place in around:
            for mark in self._named(place):
                git = use.how == "git" and mark.kind is MarkKind.CHECKED_OUT
                if mark.kind in _TREES and not (git and place == folder):
                    return mark
        if use.steering is None:
            inside = self._inside(folder)
            if inside is not None:
                return inside
        for place in around:
            for below in self._under(place):
                name = below.path.removeprefix(f"{place}/")
                if use.steering is not None and use.steering.fullmatch(name):
                    return below
                if use.steering is None and "/" not in name and steers(name):
                    return below
        return self._maybe_at_start(use) if folder == "~" and not self._start else None

    def _maybe_at_start(self, use: Use) -> Mark | None:
        """What steers by its name, wherever it lies: commands may start there, nobody knows."""
        if use.steering is None:
            return None
        for name, marks in self._ends.items():
            if use.steering.fullmatch(name.removeprefix("~/")):
                return marks[0]
        return None

    def _of_change(self, use: Use, held: Held) -> tuple[str, str] | None:
        for path in self._through(use.path, last=use.how not in _NOT_FOLLOWED):
            if "*" in path and "*" not in use.path:
                return "link", f"{use.path} leads through a link whose end is not known"
            if why := held(use.how, path):
                return "link", f"{use.path} leads through a link to {path}: {why}"
        above_it = above(use.path) if use.how in _NOT_FOLLOWED else use.path
        if (mark := self._unseen_above(above_it)) is not None:
            left = self._left(mark)
            told = (
                f"{use.path} lies below {left.path}, into which {self._origin(left)} has unpacked"
                " what may be links"
            )
            return "unpacked-place", told
        return None

    def _of_shown(self, use: Use, held: Held) -> tuple[str, str] | None:
        for path in self._through(use.path, last=True):
            if why := held("shown", path):
                return "link", f"{use.path} leads through a link to {path}: {why}"
        mark = self._unseen_above(use.path)
        if mark is None or mark.kind is not MarkKind.BROUGHT:
            return None
        left = self._left(mark)
        told = (
            f"{use.path} lies below {left.path}, into which {self._origin(left)} has unpacked what"
            " may be links to a secret"
        )
        return "unpacked-place", told

    def _of_service(self, use: Use) -> tuple[str, str] | None:
        stem = use.path.partition(".")[0].partition("@")[0]
        for mark in self._all():
            left = self._left(mark)
            if not self._is_code(left if mark.kind is MarkKind.LINK else mark):
                continue
            parts = mark.path.replace(".", "/").split("/")
            if self._near or (stem and stem in parts):
                told = (
                    f"it starts a service that may run {left.path}, which {self._origin(left)} has"
                    " written or brought there"
                )
                return "written-script", told
        return None

    @staticmethod
    def _is_code(mark: Mark) -> bool:
        # `git pull` brings what the operator's own remote holds
        if mark.kind is MarkKind.CHECKED_OUT or not _place_of_code(mark.path):
            return False
        if mark.kind is MarkKind.LINK:  # a release beside the link is the project's own
            return _project(mark.path) != _project(mark.target) and _runnable(mark.target)
        return mark.kind in _TREES or not is_static(mark.path)

    def _of_page(self, use: Use) -> tuple[str, str] | None:
        for mark in self._all():
            name = mark.path.rpartition("/")[2]
            made = is_template(mark.path) and _place_of_code(mark.path)
            served = (is_served(name) or made) and (self._near or name == use.path)
            if served or (is_served(use.path) and mark.kind in _TREES):
                left = self._left(mark)
                told = f"a server may run {left.path}, which {self._origin(left)} has left there"
                return "written-script", told
        return None

    # where paths lead

    def _ways(self, path: str) -> list[str]:
        """The path itself, and all that it is if links are followed."""
        return [path, *self._through(path, last=True)]

    def _through(self, path: str, *, last: bool = False) -> list[str]:
        """Where a path leads through links; `last`: also through one at its end."""
        found: dict[str, None] = {}
        waiting = [path, *names_from_start(path, self._start)] if self._links else []
        while waiting and len(found) < _MOST_WAYS:
            at = waiting.pop()
            places = folders_above(at)
            for place in [at, *places] if last or at != path else places:
                for target in self._targets(place):
                    led = f"{target.rstrip('/')}{at[len(place) :]}"
                    if led not in found and led != path:
                        found[led] = None
                        waiting += (led, *names_from_start(led, self._start))
        return list(found)

    def _targets(self, place: str) -> Iterator[str]:
        for name in (place, *names_of_home(place)):
            yield from self._links.get(name, ())
        for mark in self._ends.get(place, ()) if place.startswith("~") else ():
            if mark.kind is MarkKind.LINK:
                yield mark.target
        for mark in self._wild:
            if mark.kind is MarkKind.LINK and mark.path != place and overlap(mark.path, place):
                yield mark.target

    def _unseen_above(self, path: str) -> Mark | None:
        """What was unpacked above a path."""
        for folder in self._folders_above(path):
            for mark in self._named(folder):
                if mark.kind in _UNSEEN:
                    return mark
        return None

    # what lies where

    def _at(self, path: str) -> Mark | None:
        return next(iter(self._named(path)), None)

    def _named(self, path: str) -> Iterator[Mark]:
        """The marks at exactly that place."""
        for name in (path, *names_of_home(path)):
            yield from self._exact.get(name, ())
        if path.startswith("~/"):
            yield from self._ends.get(path, ())
        if "*" in path:
            yield from (mark for mark in self._all() if overlap(mark.path, path))
        else:
            for name in (path, *names_from_start(path, self._start)) if self._wild else ():
                yield from (mark for mark in self._wild if overlap(mark.path, name))

    def _around(self, path: str) -> Mark | None:
        """A tree in which the path lies."""
        for folder in self._folders_above(path):
            for mark in self._named(folder):
                if mark.kind in _TREES:
                    return mark
        return None

    def _inside(self, path: str) -> Mark | None:
        """Something below the path that may be code."""
        return next((mark for mark in self._under(path) if not is_data(mark.path)), None)

    def _under(self, path: str) -> Iterator[Mark]:
        yield from self._below.get(path, ())
        for name in names_of_home(path):
            yield from self._below.get(name, ())

    def _all(self) -> Iterator[Mark]:
        for marks in self._exact.values():
            yield from marks

    def _folders_above(self, path: str) -> list[str]:
        """The folders in which a path lies; of one from `~`, also those above the start folder."""
        found = folders_above(path)
        for name in names_from_start(path, self._start) if path.startswith("~") else ():
            found += (folder for folder in folders_above(name) if folder not in found)
        return found

    def _left(self, mark: Mark) -> Mark:
        """The mark under the name that the command gave it."""
        return self._as_left.get(mark, mark)

    def _origin(self, mark: Mark) -> Origin:
        if isinstance(self._origins, Origin):
            return self._origins
        return self._origins.get(mark, Origin())


def _settled(marks: list[Mark], start: str) -> list[Mark]:
    """The marks, where a copy of what was unpacked counts as unpacked: it may hold links, too."""
    marks = [_as_moved_link(mark, marks) for mark in marks]
    unseen = [m for m in marks if m.kind in _UNSEEN or m.kind is MarkKind.LINK]
    copied = [m for m in marks if m.kind is MarkKind.COPIED]
    if not unseen or not copied:
        return marks
    for _ in range(_MOST_ROUNDS):
        more = [
            m
            for m in copied
            for names in [(m.target, *names_from_start(m.target, start))]
            if any(meet(name, each.path) for each in unseen for name in names)
        ]
        copied = [m for m in copied if m not in more]
        unseen += (Mark(MarkKind.BROUGHT, m.path) for m in more)
        if not more:
            break
    return [*(m for m in marks if m.kind not in _UNSEEN | {MarkKind.LINK, MarkKind.COPIED}),
            *unseen, *copied]  # fmt: skip


def _as_moved_link(mark: Mark, marks: list[Mark]) -> Mark:
    """The mark; where it is a link under another name in the same folder, that link.

    So a release is switched at once: a new link is made and then renamed.
    """
    if mark.kind is not MarkKind.COPIED or "*" in mark.path:
        return mark
    links = [m for m in marks if m.kind is MarkKind.LINK and m.path == mark.target]
    others = any(m.path == mark.target and m.kind is not MarkKind.LINK for m in marks)
    if len(links) != 1 or others or above(links[0].path) != above(mark.path):
        return mark
    return Mark(MarkKind.LINK, mark.path, links[0].target)


def _place_of_code(path: str) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in _CODE_PLACES)


def _runnable(path: str) -> bool:
    """Whether what lies there may be code of somebody: no folder for logs or data of services."""
    return _place_of_code(path) or _OPEN_PLACE.match(path) is not None


def _project(path: str) -> str:
    """The folder of a project in which a path lies: the first below a place of code."""
    for place in _CODE_PLACES:
        if path.startswith(f"{place}/"):
            return f"{place}/{path.removeprefix(f'{place}/').partition('/')[0]}"
    return ""
