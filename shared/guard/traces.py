"""What a text leaves on a host, and what it runs, reads for code and changes there."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from shared.domain.provenance import Mark, MarkKind
from shared.guard.guesses import guessed
from shared.guard.policy.allowlist import Coverage
from shared.guard.policy.operands import CHANGING, ENTERED, WRITING
from shared.guard.programs.runners import (
    BRINGERS,
    COMPRESSORS,
    LOOKING,
    MAKES_EMPTY,
    NAMING,
    PLAIN,
    fetches,
    starts,
    steered_by,
)
from shared.guard.provenance_paths import above, placed
from shared.guard.publication import Put
from shared.guard.shell.written_files import copies, downloads, operands
from shared.guard.unpackings import Unpacking, fetched, unpackings
from shared.guard.words import Run, Word, literal_word

_HERE = literal_word(".")
_PARTS = re.compile(r"[=@:,]")
_TREE_COPIES = re.compile(r"-\w*[rRaPd]\w*|--(recursive|archive|no-dereference)")
_PACKS = re.compile(r"(?:[A-Za-z]*c[A-Za-z]*|(?:.* )?(?:-[A-Za-z]*c[A-Za-z]*|--create))(?: .*)?")
_PREFIXES = {"split": "x", "csplit": "xx"}
_DEFAULT_NAMES = {"wget": ("index.html",)}


class UseKind(StrEnum):
    """How a text uses a place."""

    RUNS = "runs"  # a word, or the input, of a program that may take it for code
    LOOKS_FOR_CODE = "looks_for_code"  # a folder in which a program finds what it runs
    CHANGES = "changes"  # something is written or deleted there
    STARTS = "starts"  # a service, which runs the code of its project
    FETCHES = "fetches"  # a page, which may be made by code
    SHOWS = "shows"  # the bytes of a file


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a place, `path` in the notation of marks.

    `part` is the piece of the text. `how` is the kind of operand for CHANGES, the program for
    LOOKS_FOR_CODE, and for RUNS "name" where a word is hardly a path. `steering` are the names that
    count in a folder, None for all. `sure` is False where a program may take a word for data.
    `climbs` are the folders that `..` leaves on the way there.
    """

    kind: UseKind
    path: str
    part: str
    how: str = ""
    steering: re.Pattern[str] | None = None
    sure: bool = True
    climbs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Traces:
    """All marks and all uses of one text, and what it copies, moves, links, unpacks and gets.

    `guesses` are marks at the places that a program nobody knows names: it may have written there.
    They say nothing of the text itself, in which that program asks anyway.
    """

    marks: tuple[Mark, ...] = ()
    guesses: tuple[Mark, ...] = ()
    uses: tuple[Use, ...] = ()
    puts: tuple[Put, ...] = ()
    unpackings: tuple[Unpacking, ...] = ()
    fetched: tuple[str, ...] = ()

    @property
    def copies(self) -> Iterator[Mark]:
        """What it copies, moves and links, file by file."""
        return (Mark(MarkKind.COPIED, put.place, put.source) for put in self.puts)


def traces(covered: Iterable[Coverage], read: frozenset[str] = frozenset()) -> Traces:
    """What the programs of a text leave and use, but for files of which every line was `read`."""
    marks: dict[Mark, None] = {}
    guesses: dict[Mark, None] = {}
    uses: dict[Use, None] = {}
    put: dict[Put, None] = {}
    unpacked: dict[Unpacking, None] = {}
    got: dict[str, None] = {}
    listed = list(covered)
    as_root = any(each.run.program in ("sudo", "doas") for each in listed)
    for each in listed:
        if as_root and each.doubt is None and each.shows:
            uses.update(dict.fromkeys(_shown(each)))
        if _only_looks(each):
            continue
        marks.update(dict.fromkeys(_marks(each)))
        guesses.update(dict.fromkeys(guessed(each)))
        if each.doubt is None:
            uses.update(dict.fromkeys(_uses(each)))
            put.update(dict.fromkeys(puts(each.run)))
            unpacked.update(dict.fromkeys(unpackings(each)))
        got.update(dict.fromkeys(fetched(each)))
    left = tuple(mark for mark in marks if mark.path not in read)
    maybe = tuple(mark for mark in guesses if mark.path not in read)
    return Traces(left, maybe, tuple(uses), tuple(put), tuple(unpacked), tuple(got))


def _shown(covered: Coverage) -> Iterator[Use]:
    """The files whose bytes a run shows with the rights of another account."""
    run = covered.run
    for word in [each.word for each in covered.held if each.kind == "shown"]:
        if str(word) != "-":
            for here in run.directories:
                yield Use(UseKind.SHOWS, placed(word, here), run.part)


def _only_looks(covered: Coverage) -> bool:
    """Whether a run that is allowed leaves nothing and uses no place."""
    allowance = covered.allowance
    return (
        allowance is not None
        and covered.doubt is None
        and covered.run.program in LOOKING
        and not (allowance.runs_code or allowance.brings or "/" in allowance.run[0])
        and not covered.run.writes
        and not any(each.kind in CHANGING for each in covered.held)
    )


def _marks(covered: Coverage) -> Iterator[Mark]:
    run = covered.run
    program = run.program
    if not run.argv:
        yield from _at(MarkKind.WRITTEN, run.writes, run)
        return
    if program in MAKES_EMPTY or (covered.allowance is not None and not _leaves(covered)):
        return
    words = run.argv[1:]
    if program == "install" and any(w.prefix.startswith(("-d", "--directory")) for w in words):
        return
    if program == "ln" and _is_symbolic(words):
        if covered.allowance is None or not covered.allowance.elsewhere:
            yield from _links(run)  # of the others, the rule says where both ends lie
        return
    if program == "ln":  # who writes to the one writes to the other
        yield from _at(MarkKind.WRITTEN, operands(words)[:-1], run)
    held = [each.word for each in covered.held if each.kind in WRITING]
    yield from _written(run, held)
    if covered.allowance is None or covered.allowance.directories:
        yield from _unlisted(run)  # a rule for certain words does not know the program either
    elif covered.allowance.brings:
        yield from _brought(run, covered)


def _leaves(covered: Coverage) -> bool:
    """Whether a run that is allowed leaves anything behind."""
    allowance = covered.allowance
    brings = allowance is not None and allowance.brings
    return bool(brings or covered.run.writes or any(h.kind in WRITING for h in covered.held))


def _written(run: Run, held: list[Word]) -> Iterator[Mark]:
    program, words = run.program, run.argv[1:]
    if program in _PREFIXES:
        prefixes = held or [literal_word(_PREFIXES[program])]
        for mark in _at(MarkKind.WRITTEN, prefixes, run):
            yield Mark(mark.kind, f"{mark.path}*")
        return
    pairs = copies(program, words)
    tree = program == "mv" or any(_TREE_COPIES.fullmatch(str(word)) for word in words)
    if pairs and tree:
        for source, target in pairs:
            for here in run.directories:
                yield Mark(MarkKind.COPIED, placed(target, here), placed(source, here))
        return
    if program == "rsync":
        *sources, into = operands(words)
        for source in sources:
            for here in run.directories:
                yield Mark(MarkKind.COPIED, placed(into, here), placed(source, here))
        return
    names = [word for _, word in pairs] if pairs else [*held, *run.writes]
    packs = program == "tar" and _PACKS.fullmatch(" ".join(map(str, words)))
    yield from _at(MarkKind.PACKED if packs else MarkKind.WRITTEN, names, run)


def puts(run: Run) -> Iterator[Put]:
    """What a run copies, moves and links, and where to."""
    program, words = run.program, run.argv[1:]
    if program == "ln" and _is_symbolic(words):
        for mark in _links(run):
            yield Put(mark.target, mark.path, run.part, link=True)
        return
    pairs = copies(program, words)
    if program == "rsync" and len(plain := operands(words)) > 1:
        pairs = [(source, plain[-1]) for source in plain[:-1]]
    tree = program in ("mv", "rsync") or any(_TREE_COPIES.fullmatch(str(word)) for word in words)
    for source, target in pairs:
        for here in run.directories:
            yield Put(placed(source, here), placed(target, here), run.part, tree=tree)


def _is_symbolic(words: tuple[Word, ...]) -> bool:
    return any(re.match(r"-\w*s|--symbolic", str(word)) for word in words)


def _links(run: Run) -> Iterator[Mark]:
    plain = operands(run.argv[1:])
    relative = any(re.match(r"-\w*r|--relative", str(word)) for word in run.argv[1:])
    here_as = [(word, literal_word(str(word).rstrip("/").rpartition("/")[2])) for word in plain[:1]]
    for source, link in copies("ln", tuple(plain)) or here_as:
        for here in run.directories:
            path = placed(link, here)
            target = placed(source, here if relative else literal_word(above(path)))
            yield Mark(MarkKind.LINK, path, target)
            if len(plain) > 1:  # the last word may be a folder, with the link in it
                inside = placed(source, here if relative else literal_word(path))
                name = str(source).rstrip("/").rpartition("/")[2]
                yield Mark(MarkKind.LINK, f"{path}/{name}", inside)


def _brought(run: Run, covered: Coverage) -> Iterator[Mark]:
    """What an unpacking or a download leaves, under names that nobody has seen."""
    program = run.program
    names = [*downloads(program, run.argv[1:])]
    if program in ("curl", "wget"):
        if names and not any(each.kind in WRITING for each in covered.held):
            names += map(literal_word, _DEFAULT_NAMES.get(program, ()))
            for mark in _at(MarkKind.WRITTEN, names, run):
                yield Mark(mark.kind, f"{mark.path}*")
        return
    if program == "rsync":
        return
    if program == "git":
        into = [e.word for e in covered.held if e.kind in ENTERED | WRITING] or [_HERE]
        yield from _at(MarkKind.CHECKED_OUT, into, run)
        if "clone" in map(str, run.argv):
            yield from _at(MarkKind.WRITTEN, into, run)
        return
    moved = [each.word for each in covered.held if each.kind == "moved"]
    for mark in _at(MarkKind.WRITTEN, moved, run):
        yield Mark(mark.kind, f"{mark.path.rpartition('.')[0] or mark.path}*")
    into = [each.word for each in covered.held if each.kind in WRITING]
    if program not in COMPRESSORS:
        archives = {each.into: each.archive for each in unpackings(covered)}
        for mark in _at(MarkKind.BROUGHT, into or [_HERE], run):
            yield Mark(mark.kind, mark.path, archives.get(mark.path, ""))


def _unlisted(run: Run) -> Iterator[Mark]:
    """What a program leaves that only a person can let run, as far as it is known to leave any."""
    if run.program not in BRINGERS:
        return
    words = run.argv[1:]
    plain = [word for word in operands(words) if "://" not in str(word)]
    git = run.program == "git"
    if git and not {"clone", "pull", "checkout", "submodule", "worktree"} & set(map(str, plain)):
        return
    kind = MarkKind.CHECKED_OUT if git else MarkKind.BROUGHT
    after = [word for flag, word in pairwise(words) if str(flag) in _INTO]
    last = plain[-1:] if run.program not in ("tar", "unzip", "curl", "wget") else []
    if git and "clone" in map(str, plain):
        named = [w for w in plain if str(w) != "clone"]
        url = next((str(w) for w in words if "://" in str(w) or "@" in str(w)), "")
        name = url.rstrip("/").rpartition("/")[2].removesuffix(".git")
        last = named[-1:] or ([literal_word(name)] if name else [])
    if run.program in _UNPACKING_HERE and not after:
        last = [_HERE]
    yield from _at(kind, [*after, *last, *downloads(run.program, words)], run)
    if git and "clone" in map(str, plain):
        yield from _at(MarkKind.WRITTEN, last, run)


_UNPACKING_HERE = frozenset({"tar", "unzip", "7z", "7za", "cpio", "bsdtar", "unrar", "ar", "patch"})
_INTO = frozenset({"-C", "-d", "-o", "-O", "--directory", "--output", "--output-document", "-t"})


def _at(kind: MarkKind, words: Iterable[Word], run: Run) -> Iterator[Mark]:
    for word in words:
        if str(word) == "-" or word.prefix.startswith("/dev/"):
            continue
        for here in run.directories:
            yield Mark(kind, placed(word, here))


def _uses(covered: Coverage) -> Iterator[Use]:
    run, allowance = covered.run, covered.allowance
    changed = [("write", word) for word in run.writes]
    changed += [(each.kind, each.word) for each in covered.held if each.kind in CHANGING]
    if run.argv:
        changed += [("write", word) for word in downloads(run.program, run.argv[1:])]
    for how, word in changed:
        yield from _changes(run, word, how)
    if not run.argv or allowance is None or allowance.runs_another:
        return
    texts = tuple(map(str, run.argv[1:]))
    if covered.runs_code or "/" in allowance.run[0] or run.program not in PLAIN:
        yield from _runs(covered)
    yield from _folders(covered, texts)
    yield from _services(run, texts)


def _services(run: Run, texts: tuple[str, ...]) -> Iterator[Use]:
    """Services that are started, and pages that are got: code of others runs for both."""
    services = starts(run.program, texts)
    if services is not None:
        for name in services or ("",):
            yield Use(UseKind.STARTS, name, run.part)
    if fetches(run.program):
        for text in texts:
            if "/" in text or "localhost" in text:
                name = re.split(r"[?#;]", text)[0].rpartition("/")[2]
                yield Use(UseKind.FETCHES, name, run.part)


def _changes(run: Run, word: Word, how: str) -> Iterator[Use]:
    if str(word) == "-" or word.prefix.startswith("/dev/"):
        return
    for here in run.directories:
        path = placed(word, here)
        yield Use(UseKind.CHANGES, path, run.part, how, climbs=_climbed(word, here))


def _climbed(word: Word, here: Word) -> tuple[str, ...]:
    """The folders that `..` leaves on the way: if one is a link, it leads out of the other end."""
    text = str(word)
    if ".." not in text.split("/"):
        return ()
    found = []
    components = text.split("/")
    for index, component in enumerate(components):
        if component == "..":
            before = "/".join(components[:index])
            found.append(placed(literal_word(before), here) if before else placed(_HERE, here))
    return tuple(found)


def _runs(covered: Coverage) -> Iterator[Use]:
    run, code = covered.run, covered.runs_code
    written = {each.word for each in covered.held if each.kind in WRITING}
    named = run.argv if "/" in str(run.argv[0]) else run.argv[1:]
    words = (*named, run.input) if run.input is not None else named
    for word in words:
        if word in written:
            continue
        for text, whole in _candidates(word):
            known = bool(text.strip("*/~."))
            if not known and not code:
                continue
            if run.program in NAMING and "/" not in text:
                continue
            how = "" if code or "/" in text else "name"
            for here in run.directories:
                path = placed(text if whole is None else whole, here)
                climbs = _climbed(literal_word(text), here)
                yield Use(UseKind.RUNS, path, run.part, how, sure=code, climbs=climbs)


def _candidates(word: Word) -> Iterator[tuple[str, Word | None]]:
    """The paths that a word may hold: itself, the value in it, what stands behind an `@`."""
    text = word.with_placeholder("*")
    yield text, word
    if word.literal is None:
        return
    if "://" in text and not text.startswith("file:"):
        return
    if text.startswith("-") and len(text) > 2:  # noqa: PLR2004 - `-fFILE`
        yield text[2:], None
    parts = _PARTS.split(text)
    if len(parts) > 1:
        for part in parts:
            if part and part != text:
                yield part.removeprefix("//") if part.startswith("///") else part, None


def _folders(covered: Coverage, texts: tuple[str, ...]) -> Iterator[Use]:
    run = covered.run
    steering = None if covered.runs_code else steered_by(run.program, texts)
    if steering is None and not covered.runs_code:
        return
    entered = [each.word for each in covered.held if each.kind in ENTERED]
    for here in run.directories:
        places = [placed(_HERE, here), *(placed(word, here) for word in entered)]
        if "/" in str(run.argv[0]):
            places.append(above(placed(run.argv[0], here)))
        for path in dict.fromkeys(places):
            yield Use(UseKind.LOOKS_FOR_CODE, path, run.part, run.program, steering)
