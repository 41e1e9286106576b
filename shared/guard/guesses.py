"""Where programs that nobody knows may have written."""

import re
from collections.abc import Iterator

from shared.domain.provenance import Mark, MarkKind
from shared.guard.policy.allowlist import Coverage
from shared.guard.programs.runners import BRINGERS, WRITES_NOTHING
from shared.guard.provenance_paths import placed
from shared.guard.words import Run, Word, literal_word

_PATH = re.compile(r"(?<![\w.:/~-])(?:~?/|\.{1,2}/)[\w.@+*/-]*\w")
_NEVER_WRITE = frozenset(
    {
        *("cat", "ls", "stat", "head", "tail", "grep", "egrep", "fgrep", "zgrep", "wc", "cut"),
        *("file", "du", "df", "diff", "cmp", "echo", "printf", "test", "[", "cd", "readlink"),
        *("realpath", "id", "which", "pgrep", "pidof", "sudo", "timeout", "xargs", "find"),
    }
)


def guessed(covered: Coverage) -> Iterator[Mark]:
    """Where a program that nobody knows may have written: wherever its words say."""
    run = covered.run
    if covered.allowance is not None or not run.argv or run.writes:
        return
    if run.program in BRINGERS | _NEVER_WRITE | WRITES_NOTHING or _makes_environment(run):
        return
    for word in _paths(run):
        for here in run.directories:
            yield Mark(MarkKind.WRITTEN, placed(word, here))


def _makes_environment(run: Run) -> bool:
    """Whether it is `python -m venv`, which puts there what belongs to Python, and nothing else."""
    words = [word.literal for word in run.argv[1:3]]
    return run.program in ("python", "python3") and words == ["-m", "venv"]


def _paths(run: Run) -> list[Word]:
    """The paths that stand in the words of a program that nobody knows, or in its code."""
    texts = (word.with_placeholder("*") for word in run.argv[1:])
    return [literal_word(path) for text in texts for path in _PATH.findall(text)]
