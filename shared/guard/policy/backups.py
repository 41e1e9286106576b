"""Backups are kept: no move, no empty file and no older copy takes the place of one (X17)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.paths import canonical
from shared.guard.pipes import writers
from shared.guard.policy.territory import lies_among_backups
from shared.guard.programs.inline_code import option_values
from shared.guard.shell.written_files import files_of_dd, operands
from shared.guard.words import Run, Word, literal_word

RULE = "backup-lost"

_SAYING = frozenset({"echo", "printf", ":", "true", "yes", "seq", "date"})
_UNPACKING = frozenset({"gunzip", "bunzip2", "unxz", "unzstd", "gzip", "bzip2", "xz", "zstd"})
_PACKED = re.compile(
    r"(?i).*\.(?:tar|tgz|tbz2?|txz|zip|sql|dump|rdb|bson|img|iso)(?:\.(?:gz|xz|bz2|zst|lz4))?"
)
_TRIAL = re.compile(r"(?i)restor|test|tmp|temp|verif|check|try|new|stag|releases/")
_TEXT = re.compile(r"(?i).*\.(?:txt|md|log|sh|sha256|md5|json|ya?ml)|readme")


def backup_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run after which a backup may be gone, or another one in its place."""
    listed = list(runs)
    for run in listed:
        for word, why in _lost(run, listed):
            if _among_backups(word, run):
                yield Verdict(
                    VerdictKind.APPROVE, RULE, f"{word} lies among backups: {why}", run.part
                )
                break


def _lost(run: Run, listed: list[Run]) -> Iterator[tuple[Word, str]]:
    plain = operands(run.argv[1:]) if run.argv else []
    match run.program:
        case "mv" if not _says(run, r"-\w*n\w*|--no-clobber"):
            yield from ((word, "it would be missing there") for word in plain[:-1])
        case "sed" if _says(run, r"-[a-zA-Z]*i.*|--in-place.*"):
            yield from ((word, "nobody could trust it any more") for word in plain)
        case "touch":
            yield from ((word, "what only looks new pushes others out") for word in plain)
        case "cp" | "install" | "ln" | "dd" | "sort":
            yield from ((word, "it would be another file") for word in _replaced(run, plain))
        case "tar" | "unzip" if _unpacks_over(run):
            yield from (
                (word, "it would come to lie over what is there now") for word in _read(run)
            )
        case program if program in _UNPACKING and _says(run, r"-\w*f\w*|--force"):
            yield from ((word, "what has its name would be replaced") for word in plain)
        case "" if run.writes and not run.appends and _is_said(run, listed):
            yield from ((word, "what it holds would be gone") for word in run.writes)


def _replaced(run: Run, plain: list[Word]) -> list[Word]:
    """The backup in whose place something comes that is none by its name."""
    match run.program:
        case "dd":
            sources, targets = files_of_dd(run.argv[1:], "if="), files_of_dd(run.argv[1:])
        case "sort":
            targets = list(option_values(run.argv[1:], "o", ("output",)))
            sources = [word for word in plain if word not in targets]
        case _:
            sources, targets = plain[:-1], plain[-1:]
    if any(_PACKED.fullmatch(word.with_placeholder("x")) for word in sources):
        return []
    return [word for word in targets if _PACKED.fullmatch(word.with_placeholder("x"))]


def _unpacks_over(run: Run) -> bool:
    """Whether an archive is unpacked to where a project lives, and not to be tried."""
    words = run.argv[1:]
    into = [
        str(w) for w in option_values(words, "C" if run.program == "tar" else "d", ("directory",))
    ]
    unpacks = run.program == "unzip" or any(
        re.match(r"-?[a-zA-Z]*x|--extract", str(w)) for w in words[:1]
    )
    return unpacks and any(not _TRIAL.search(place) for place in into)


def _read(run: Run) -> list[Word]:
    if run.program == "unzip":
        return list(operands(run.argv[1:]))[:1]
    return [word for word in run.argv[1:] if _PACKED.fullmatch(word.with_placeholder("x"))]


def _says(run: Run, option: str) -> bool:
    return any(re.fullmatch(option, str(word)) for word in run.argv[1:])


def _is_said(run: Run, listed: list[Run]) -> bool:
    """Whether what is redirected there is a word, or nothing, in place of a backup."""
    if all(_TEXT.fullmatch(str(word).rpartition("/")[2]) for word in run.writes):
        return False
    return all(each.program in _SAYING for each in writers(run, listed))


def _among_backups(word: Word, run: Run) -> bool:
    """Whether a place is a folder of backups, or in one: no service and no program named so."""
    for here in run.directories:
        path = canonical(word, here)
        folder = path if run.program == "mv" else _above(path)
        if lies_among_backups(folder) and not path.prefix.startswith(("/etc/", "/usr/")):
            return True
    return False


def _above(path: Word) -> Word:
    return literal_word(path.with_placeholder("x").rpartition("/")[0])
