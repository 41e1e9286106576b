"""What would fill a disk: a file of a source that has no end, or of a size beyond reason (X17)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.pipes import feeding
from shared.guard.words import Run, Word

RULE = "fills-disk"
MOST = 32 * 1024**3
"""The largest file in bytes that a command may make at once without a person."""

_ENDLESS = frozenset({"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"})
_COPIERS = frozenset({"cp", "dd", "install", "tee"})
_SIZE = re.compile(r"(\d{1,18})(?:([kKmMgGtTpPeE])?(?:i?[bB])?)?")
_POWERS = "kmgtpe"
_DD_BLOCK = 512
_DIGITS = 9
_WIDTH = 6
_PIECE = 1024
_MOST_PIECES = 1000
_FIRST_STEP_LAST = 3
_STREAMING = frozenset(
    {
        *("cat", "tr", "head", "tee", "dd", "fold", "cut", "grep", "sed", "od", "xxd", "hexdump"),
        *("base64", "base32", "strings", "nl", "expand", "unexpand", "rev", "fmt", "pv", "openssl"),
        *("gzip", "xz", "zstd", "bzip2", "uniq", "stdbuf", "timeout", "sudo", "env", "echo"),
        *("printf", "seq", "journalctl", "tail", "dmesg", "docker", "podman", "kubectl", "ping"),
    }
)
"""Programs that put out what they read piece by piece; others first take it in whole."""
_NEVER_READ = frozenset({"ls", "stat", "test", "[", "ln", "chmod", "chown", "readlink", "realpath"})
_COUNTED = {
    "head": ("-c", "--bytes"),
    "od": ("-N", "--read-bytes"),
    "xxd": ("-l", "-len"),
    "hexdump": ("-n",),
    "shuf": ("-n", "--head-count"),
}
"""The options of programs that take so much of what they read, and no more."""
_MUCH = "it takes more of the disk than a command may without a person"


def exhaustion_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that would make a file without an end, or a very large one.

    A redirection may belong to any run of the text; `head` ends what comes before it in a pipe.
    """
    listed = list(runs)
    files = [word.literal for run in listed for word in run.writes if _is_file(word)]
    ended = _ended(listed)
    timed = any(run.program == "timeout" for run in listed)
    for run in listed:
        why = _size_objection(run)
        if why is None and (run not in ended or run.program in _COPIERS):
            why = _endless_objection(run, files, timed=timed)
        if why:
            yield Verdict(VerdictKind.APPROVE, RULE, why, run.part)


def _ended(runs: list[Run]) -> set[Run]:
    """The runs whose output goes into a `head`, which ends them when it has enough.

    What takes in its whole input first is not ended before that, and nor is what feeds it.
    """
    found: set[Run] = set()
    for head in runs:
        if head.program == "head" and not any(_is_file(w) for f in head.feeders for w in f.writes):
            found.update(feeding(head))
    whole = [run for run in found if run.argv and run.program not in _STREAMING]
    return found.difference(whole, *map(feeding, whole))


def _is_file(word: Word) -> bool:
    return not word.prefix.startswith("/dev/")


def _size_objection(run: Run) -> str | None:
    """Why what a run makes may be too large, by the sizes in its words."""
    texts = _texts(run)
    match run.program:
        case "fallocate":
            return _too_large(texts, ("-l", "--length"))
        case "truncate":
            return _too_large(texts, ("-s", "--size"))
        case "split":
            return _small_pieces(texts)
        case "openssl" if texts[:1] == ["rand"]:
            return _MUCH if any(t.isdigit() and int(t) > MOST for t in texts) else None
        case "printf" | "date" | "awk" | "gawk" | "mawk" | "nawk" | "seq":
            return "it pads what it writes beyond reason" if _pads(run.program, texts) else None
        case "dd":
            return _dd_objection(texts)
    source = next(_sources(run), None)
    size = None if source is None else _bounded(run.program, texts)
    return _MUCH if size is not None and size > MOST else None


def _endless_objection(run: Run, files: list[str | None], *, timed: bool) -> str | None:
    """Why a run may never end, where nothing behind it in a pipe ends it."""
    texts = _texts(run)
    if run.program == "seq" and (why := _long_list(texts, writes=bool(files))):
        return why
    if run.program == "top" and _redraws_at_once(texts):
        return "it shows all processes without a pause"
    if files and not timed and _follows(run, texts):
        return "it follows what comes for ever, into a file"
    if run.program in _NEVER_READ:
        return None
    for source in _sources(run):
        if _bounded(run.program, texts) is None:
            return f"{source} has no end: what it writes may fill the disk"
    return None


def _long_list(texts: list[str], *, writes: bool) -> str | None:
    numbers = [text for text in texts if not re.fullmatch(r"-[a-z].*", text)]
    strange = any(not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text) for text in numbers if text)
    still = len(numbers) == _FIRST_STEP_LAST and numbers[1].strip("0.") == ""
    last = next((text for text in reversed(texts) if text.isdigit()), "")
    if strange or still or (writes and len(last) > _DIGITS):
        return "the list that it writes may fill the disk"
    return None


def _too_large(texts: list[str], names: tuple[str, ...]) -> str | None:
    """An objection to a size that is given and is not known to be small."""
    size, given = _asked(texts, names), any(t.startswith(names) for t in texts)
    return _MUCH if (given and size is None) or (size or 0) > MOST else None


def _small_pieces(texts: list[str]) -> str | None:
    """Pieces so small that a file becomes more files than a disk may hold."""
    for names, least in (
        (("-b", "--bytes", "-C", "--line-bytes"), _PIECE),
        (("-l", "--lines"), 10),
    ):
        size = _asked(texts, names)
        if size is not None and size < least:
            return "it makes a file of every few bytes: they may fill the disk"
    pieces = _asked(texts, ("-n", "--number"))
    return None if (pieces or 0) <= _MOST_PIECES else "it makes very many files"


def _pads(program: str, texts: list[str]) -> bool:
    """Whether a format asks for more blanks or zeros than any column has."""
    if program == "printf" and texts and re.search(r"%[^a-zA-Z%]*\*", texts[0]):
        return any(text.isdigit() and len(text) > _WIDTH for text in texts[1:])
    return any(re.search(rf"[%.*][-+ #0_^']*\d{{{_WIDTH},}}[A-Za-z.]", text) for text in texts)


def _dd_objection(texts: list[str]) -> str | None:
    pairs = dict(text.split("=", 1) for text in texts if "=" in text)
    sizes = [_bytes(pairs[key]) for key in ("bs", "ibs", "obs") if key in pairs]
    if any(size is not None and size > MOST for size in sizes):
        return _MUCH
    if "of" in pairs and any(source in (f"if={s}" for s in _ENDLESS) for source in texts):
        size = _bounded("dd", texts)
        return _MUCH if size is not None and size > MOST else None
    return None


def _follows(run: Run, texts: list[str]) -> bool:
    """Whether a program puts out what comes for as long as it runs."""
    letters = {letter for text in texts if re.fullmatch(r"-[a-zA-Z]+", text) for letter in text[1:]}
    numbers = [text for text in texts if text.isdigit()]
    match run.program:
        case "docker" | "podman" if "stats" in texts:
            return "--no-stream" not in texts
        case "tail" | "journalctl" | "docker" | "podman" | "kubectl":
            return (bool(letters & {"f", "F"}) and "exec" not in texts) or "--follow" in texts
        case "dmesg":
            return bool(letters & {"w", "W"}) or "--follow" in texts
        case "top" | "iotop":
            return "b" in letters and not letters & {"n"}
        case "vmstat" | "iostat" | "mpstat" | "pidstat" | "sar":
            return len(numbers) == 1
        case _:
            return False


def _redraws_at_once(texts: list[str]) -> bool:
    return _asked_delay(texts) == 0 and not any(text.startswith("-n") for text in texts)


def _asked_delay(texts: list[str]) -> float | None:
    for index, text in enumerate(texts):
        found = re.fullmatch(r"-[a-zA-Z]*d(\d*\.?\d*)", text)
        if found:
            given = found[1] or (texts[index + 1] if index + 1 < len(texts) else "")
            return float(given) if re.fullmatch(r"\d+\.?\d*", given) else None
    return None


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
    if program in _COUNTED:
        return _asked(texts, _COUNTED[program])
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
