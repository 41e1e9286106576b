"""Downloads that lie among programs at once, where services and schedules run them (X17)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.paths import canonical
from shared.guard.programs.inline_code import option_values
from shared.guard.programs.runners import is_static
from shared.guard.shell.written_files import downloads
from shared.guard.words import HOME, Run, Word, literal_word

RULE = "downloaded-code"

_NEAR = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\])[:/]")
_CODE_PLACES = (f"{HOME}/", "/srv/", "/opt/", "/var/www/", "/usr/")
_INSTALLED = re.compile(
    r"(?i).*\.(?:deb|rpm|apk|whl|iso|img|qcow2|tar(?:\.\w+)?|tbz2?|txz|bz2|zst|bin|dat|db|mmdb)"
)
"""What is installed, unpacked or read, and never run as it is."""


def downloaded_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each download that something may run without a further command."""
    for run in runs:
        if any(map(_NEAR.match, map(str, run.argv[1:]))):
            continue
        for word in kept_as(run):
            for here in run.directories:
                path = canonical(word, here).with_placeholder("x")
                if path.startswith(_CODE_PLACES) and not _is_data(path):
                    told = f"{word} comes from another host, and lies where programs do: use /tmp"
                    yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)
                    break


def _is_data(path: str) -> bool:
    return is_static(path) or _INSTALLED.fullmatch(path) is not None


def kept_as(run: Run) -> Iterator[Word]:
    """The names under which curl and wget keep what they get."""
    words = run.argv[1:]
    match run.program:
        case "curl":
            yield from option_values(words, "o", ("output",))
            if any(
                re.fullmatch(r"-[a-zA-Z]*O[a-zA-Z]*|--remote-name", str(word)) for word in words
            ):
                yield from downloads(run.program, words)
        case "wget":
            named = list(option_values(words, "O", ("output-document",)))
            into = [str(word) for word in option_values(words, "P", ("directory-prefix",))]
            pages = [str(word).partition("?")[0] for word in words if "://" in str(word)]
            names = [page.rpartition("/")[2] or "index.html" for page in pages]
            yield from named or [literal_word("/".join((*into[:1], name))) for name in names]
