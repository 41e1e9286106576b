"""What would fill a disk: a file of a source that has no end, or of a size beyond reason (X17)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.words import Run

RULE = "fills-disk"
MOST = 32 * 1024**3
"""The largest file in bytes that a command may make at once without a person."""

_ENDLESS = frozenset({"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"})
_COPIERS = frozenset({"cp", "dd", "install", "tee"})
_SIZE = re.compile(r"(\d{1,18})(?:([kKmMgGtTpPeE])?(?:i?[bB])?)?")
_POWERS = "kmgtpe"
_DD_BLOCK = 512
_DIGITS = 9
_MUCH = "it takes more of the disk than a command may without a person"


def exhaustion_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that would make a file without an end, or a very large one.

    A redirection may belong to any run of the text; `head` ends what comes before it in a pipe.
    """
    listed = list(runs)
    writes = any(not word.prefix.startswith("/dev/") for run in listed for word in run.writes)
    ended = any(run.program == "head" and not _sources(run) for run in listed)
    for run in listed:
        if why := _objection(run, writes=writes, ended=ended):
            yield Verdict(VerdictKind.APPROVE, RULE, why, run.part)


def _objection(run: Run, *, writes: bool, ended: bool) -> str | None:
    texts = _texts(run)
    if run.program == "fallocate" and (_asked(texts, ("-l", "--length")) or 0) > MOST:
        return _MUCH
    if not writes and run.program not in _COPIERS:
        return None
    if run.program == "seq" and not ended:
        last = next((text for text in reversed(texts) if text.isdigit()), "")
        return "the list that it writes may fill the disk" if len(last) > _DIGITS else None
    source = next(_sources(run), None)
    if source is None or (ended and run.program not in _COPIERS):
        return None
    size = _bounded(run.program, texts)
    if size is None:
        return f"{source} has no end: what it writes may fill the disk"
    return _MUCH if size > MOST else None


def _texts(run: Run) -> list[str]:
    return [word.literal or "" for word in run.argv[1:]]


def _sources(run: Run) -> Iterator[str]:
    """The sources without an end that a run reads."""
    inputs = (*run.reads, run.input) if run.input is not None else run.reads
    for text in (*_texts(run), *(word.literal or "" for word in inputs)):
        if text.removeprefix("if=") in _ENDLESS:
            yield text.removeprefix("if=")


def _bounded(program: str, texts: list[str]) -> int | None:
    """How many bytes a run takes from a source without an end; None if nothing bounds it."""
    if program == "head":
        return _asked(texts, ("-c", "--bytes"))
    if program != "dd":
        return None
    pairs = dict(text.split("=", 1) for text in texts if "=" in text)
    count, block = _bytes(pairs.get("count", "")), _bytes(pairs.get("bs", str(_DD_BLOCK)))
    if count is None or block is None:
        return None
    return count * block


def _asked(texts: list[str], names: tuple[str, ...]) -> int | None:
    """The size that an option gives: `-c N`, `-cN`, `--bytes=N`."""
    for index, text in enumerate(texts):
        for name in names:
            if text == name:
                return _bytes(texts[index + 1]) if index + 1 < len(texts) else None
            if text.startswith(name):
                return _bytes(text.removeprefix(name).removeprefix("="))
    return None


def _bytes(text: str) -> int | None:
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    power = _POWERS.index(found[2].lower()) + 1 if found[2] else 0
    return int(found[1]) << (10 * power)
