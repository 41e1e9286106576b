"""Files that end empty, doubled or many times as large because they are read and written (X17)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.paths import canonical
from shared.guard.pipes import sources_of
from shared.guard.shell.sed_edits import edit_scripts
from shared.guard.shell.written_files import operands
from shared.guard.words import Run, Word, literal_word

RULE = "read-and-written"
_WHOLE = frozenset({"/srv", "/opt", "/var/www", "/var", "/home", "/etc", "/usr", "/"})
_COPIERS = frozenset({"cp", "rsync"})
_AGAIN = 3
_OF_ALL = re.compile(r"(?:1,\$|1,)?\s*d|s([/|#,])\^?\.\*\$?\1\1g?|/\.?\*?/d|\$!d|2,\$d")
"""Scripts of sed that delete or empty every line."""


def overwrite_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that reads what it empties, or multiplies what is there."""
    listed = list(runs)
    for run in listed:
        if why := next(filter(None, (judge(run) for judge in _OF_ONE)), _emptied(run, listed)):
            yield Verdict(VerdictKind.APPROVE, RULE, why, run.part)


def _emptied(run: Run, listed: list[Run]) -> str | None:
    """`sort F > F`, `sort F | tee F`: the file is emptied before anybody has read it."""
    if run.appends or not run.writes or run.program not in ("", "tee"):
        return None
    readers = sources_of(run, listed)
    for word in run.writes:
        if word.literal is None or word.literal.startswith("/dev/"):
            continue
        for each in readers:
            if any(word.literal == read.literal for read in _read(each)):
                return f"{word} is emptied before {each.program} reads it"
    return None


def _edited_away(run: Run) -> str | None:
    """`sed -i 1,$d F`: an edit that leaves nothing of what the file held."""
    script = next(iter(edit_scripts(run)), "")
    return f"it leaves nothing of the file: {script}" if _OF_ALL.fullmatch(script) else None


def _read(run: Run) -> Iterator[Word]:
    if run.program in ("echo", "printf", "test", "[", "mkdir", "touch", "rm", "tee"):
        return
    yield from operands(run.argv[1:])
    yield from run.reads
    if run.input is not None:
        yield run.input


def _multiplied(run: Run) -> str | None:
    """`cat F F F F`: some rounds of it, and the disk is full."""
    if run.program not in ("cat", "zcat", "tac"):
        return None
    named = Counter(word.literal for word in run.argv[1:] if word.literal)
    most = max(named.values(), default=0)
    return f"it repeats a file {most} times" if most >= _AGAIN else None


def _copied_whole(run: Run) -> str | None:
    if run.program not in _COPIERS:
        return None
    *sources, target = operands(run.argv[1:]) or [literal_word("")]
    for here in run.directories:
        into = canonical(target, here).with_placeholder("x")
        for word in sources:
            shown = canonical(word, here).literal
            path = "" if shown is None else shown.rstrip("/") or "/"
            if path in _WHOLE and (path == "/" or into.startswith(f"{path}/")):
                return f"{path} as a whole would be copied into itself"
    return None


_OF_ONE = (_multiplied, _copied_whole, _edited_away)
