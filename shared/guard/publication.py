"""What plans put where pages are served, through all links and copies they and others have made."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from shared.domain.provenance import Mark, MarkKind
from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.policy.published import PRIVATE, RULE, SERVED
from shared.guard.programs.runners import is_served as is_run_for_pages
from shared.guard.provenance_paths import above, folders_above, names_from_start, overlap

_MOST_NAMES = 1000
_MOST_LINKS = 40
"""So many links a kernel follows in a path."""

_PAGES = re.compile(
    r"(?i).*/(?:public|public_html|htdocs|html|webroot|www|static|assets|dist|build|out|_site|pages"
    r"|docs|uploads?|media|images?|img|css|js|fonts|downloads?|\.well-known|acme|maintenance)"
)
_PAGES_FROM_START = re.compile(r"(?i)~/(?:site|web|website|content|frontend|themes?)")
_RELEASE = re.compile(
    r"(?i).*/(?:(?:releases?|versions?|builds?|deploys?|deployments)/[^/]+|current|release"
    r"|[^/]*[-_.@]v?\d+(?:[._-]?\d+)*)"
)
_A_PAGE = re.compile(
    r"(?i).*\.(?:html?|css|m?js|json|xml|txt|md|pdf|png|jpe?g|gif|svg|ico|webp|avif|woff2?|ttf|map"
    r"|mp[34]|webm|wasm|webmanifest|php|asc|gpg|sig|sha256|deb|rpm|apk|iso|whl)"
)
_PROJECT = re.compile(
    r"/|(?:/srv|/opt|/home|/var|/usr/local|/usr|/mnt|/data|/root|~)(?:/[^/]*)?|/[^/]+|\*.*"
)
_NOT_FOR_PAGES = re.compile(
    r"(?i).*/(?:\.(?:env|git|svn|hg|ht|npmrc|pypirc|netrc|pgpass|aws|ssh|docker|kube)[^/]*(?:/.*)?"
    r"|[^/]*\.(?:pem|key|p12|pfx|sql|dump|sqlite3?|db))"
)


@dataclass(frozen=True, slots=True)
class Put:
    """Something of `source` that comes to lie at `place`, both in the notation of marks.

    `link`: as a symbolic link to it. `tree`: with all that is in it. `part` is the piece of the
    text.
    """

    source: str
    place: str
    part: str
    link: bool = False
    tree: bool = False


class Publication:
    """The links, copies and private files of a host, and what would be served through them."""

    def __init__(self, marks: Iterable[Mark], start: str = "") -> None:
        """Index the marks; commands start in `start`, empty if that is not known."""
        self._start = start
        self._from: dict[str, list[Mark]] = {}
        self._to: dict[str, list[Mark]] = {}
        self._sources: dict[str, list[Mark]] = {}
        self._inside: dict[str, list[Mark]] = {}
        self._wild: list[Mark] = []
        self._linked: set[str] = set()
        self._private: list[Mark] = []
        for mark in dict.fromkeys(name for each in marks for name in self._named(each)):
            self._add(mark)
        self._index_links()

    def _named(self, mark: Mark) -> Iterator[Mark]:
        for name in self._names(mark.path):
            yield replace(mark, path=name)

    def _names(self, path: str) -> tuple[str, ...]:
        return (path, *names_from_start(path, self._start))

    def _add(self, mark: Mark) -> None:
        made = _NOT_FOR_PAGES.fullmatch(mark.path) or is_run_for_pages(mark.path)
        if mark.kind is MarkKind.CHECKED_OUT or made:
            self._private.append(mark)
        if mark.kind not in (MarkKind.LINK, MarkKind.COPIED):
            return
        if mark.kind is MarkKind.LINK:
            self._linked.add(mark.target)
            self._from.setdefault(mark.path, []).append(mark)
        self._sources.setdefault(mark.path, []).append(mark)
        for folder in folders_above(mark.path):
            self._inside.setdefault(folder, []).append(mark)
        if "*" in f"{mark.path}{mark.target}":
            self._wild.append(mark)

    def _index_links(self) -> None:
        """By both ends, but for those that lie in a folder of which `ln` would make another link.

        Where the last word of `ln` may be a folder, there are two marks, and one of them is true.
        """
        for path in [each for each in self._from if above(each) in self._from]:
            name = path.rpartition("/")[2]
            kept = [link for link in self._from[path] if link.target.rpartition("/")[2] != name]
            self._from[path] = kept
        for links in self._from.values():
            for link in links:
                self._to.setdefault(link.target, []).append(link)

    def objection(self, puts: Iterable[Put]) -> Verdict | None:
        """Why one of them needs a person; None if none does."""
        for put in puts:
            places = self._places(put.place, last=not put.link)
            served = next((name for name in places if is_served(name)), None)
            if served is None and len(places) < _MOST_NAMES:
                continue
            if why := self._unfit(put, served or put.place):
                told = f"{why} where pages are served: {served or put.place}"
                return Verdict(VerdictKind.APPROVE, RULE, told, put.part)
        return None

    def _places(self, path: str, *, last: bool) -> list[str]:
        """The names under which a place can be got at, through links on the way or to it.

        `last`: what lies there already may be a link, and is followed.
        """
        found = dict.fromkeys(self._names(path))
        newest = list(found)
        for hop in range(_MOST_LINKS):
            names = [name for at in newest for name in self._aliases(at, last=last or hop > 0)]
            newest = [name for name in dict.fromkeys(names) if name not in found]
            found |= dict.fromkeys(newest)
            if not newest or len(found) >= _MOST_NAMES:
                break
        return list(found)

    def _aliases(self, at: str, *, last: bool) -> Iterator[str]:
        """Other names of a place by one link; `last`: also by one that lies there."""
        folders = (at, *folders_above(at))
        wild = [mark for mark in self._wild if mark.kind is MarkKind.LINK]
        links = [link for folder in folders for link in self._from.get(folder, ())]
        for link in (*links, *wild):
            below = _below(at, link.path)
            if below is not None and (last or below):
                yield from self._names(f"{link.target.rstrip('/')}{below}")
        links = [link for folder in folders for link in self._to.get(folder, ())]
        for link in (*links, *wild):
            below = _below(at, link.target)
            if below is not None and not _lies_in(at, link.path):
                yield from self._names(f"{link.path}{below}")

    def _unfit(self, put: Put, served: str) -> str | None:
        """What would be served and was not made for it, in words."""
        patterned = put.source.endswith("/*")
        source = put.source.removesuffix("/*") or "/"
        if not (put.link or put.tree):
            private = PRIVATE.fullmatch(source) and not source.startswith(_served_folder(served))
            return f"{source} would lie" if private else None
        if not is_fit(source, link=put.link):
            return f"the whole of {source} would lie"
        held = self._held(source)
        if len(held) >= _MOST_NAMES:
            return f"{source} holds more links than can be followed, which would lie"
        for name in held:
            if name != source and not is_fit(name, link=put.link or self._is_linked(name)):
                return f"{source} leads to {name}, which would lie"
            if why := self._private_in(name, patterned=patterned and name == source):
                return f"{why} would lie"
        return None

    def _held(self, source: str) -> list[str]:
        """The folder, and all that links and copies have put in its place, or in it."""
        found = [source]
        for at in found:
            for led in self._led(at, source):
                if led not in found and len(found) < _MOST_NAMES:
                    found.append(led)
        return found

    def _led(self, at: str, source: str) -> Iterator[str]:
        for name in self._names(at):
            for folder in (name, *folders_above(name)):
                for mark in self._sources.get(folder, ()):
                    yield f"{mark.target.rstrip('/')}{_below(name, folder)}"
            for mark in self._wild:
                if (below := _below(name, mark.path)) is not None:
                    yield f"{mark.target.rstrip('/')}{below}"
            for mark in (*self._inside.get(name, ()), *self._wild):
                if _lies_in(mark.path, name) and not _lies_in(mark.target, source):
                    yield mark.target

    def _is_linked(self, name: str) -> bool:
        return any(folder in self._linked for folder in (name, *folders_above(name)))

    def _private_in(self, folder: str, *, patterned: bool) -> str | None:
        for mark in self._private:
            made = _NOT_FOR_PAGES.fullmatch(mark.path) or is_run_for_pages(mark.path)
            if mark.kind is MarkKind.CHECKED_OUT and not made:
                if patterned or _RELEASE.fullmatch(folder) or not _lies_in(mark.path, folder):
                    continue
                return f"{mark.path}/.git"
            if _lies_in(mark.path, folder):
                return mark.path
        return None


def is_served(path: str) -> bool:
    """Whether a place is by its name one of which pages are served."""
    return SERVED.fullmatch(path) is not None


def is_fit(path: str, *, link: bool) -> bool:
    """Whether what lies there may be served, as its name tells: pages, a release, no project.

    A `link` leads to all that comes there later, so a folder of any other name is not fit for one.
    """
    path = path.rstrip("/") or "/"
    if any(each.fullmatch(path) for each in (SERVED, _PAGES, _PAGES_FROM_START, _A_PAGE)):
        return True
    if _RELEASE.fullmatch(path):
        return True
    return not link and _PROJECT.fullmatch(path) is None


def _served_folder(path: str) -> str:
    found = SERVED.fullmatch(path)
    return path if found is None else found[1]


def _lies_in(path: str, folder: str) -> bool:
    return _below(path, folder) is not None


def _below(path: str, folder: str) -> str | None:
    """What follows the folder in a path that lies in it, or may; None for any other path."""
    if path == folder or path.startswith(f"{folder.rstrip('/')}/"):
        return path[len(folder.rstrip("/")) :]
    if "*" not in f"{path}{folder}" or folder.startswith("*") or path.startswith("*"):
        return None
    around = (each for each in (path, *folders_above(path)) if overlap(each, folder))
    return next((path[len(each.rstrip("/")) :] for each in around), None)
