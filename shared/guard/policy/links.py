"""Where a symbolic link leads: its target counts from the folder in which the link lies."""

import re

from shared.guard.findings import Doubt
from shared.guard.paths import canonical
from shared.guard.policy.allowance import Held
from shared.guard.policy.ground import Ground
from shared.guard.words import Run, Word, join, literal_word

_OPEN = re.compile(r"/(?:tmp|var/tmp|dev/shm)/")


def strange_link(run: Run, held: tuple[Held, ...], ground: Ground) -> Doubt | None:
    """Why a link of `ln -s` may not lead where it does; None if it may, and for other programs.

    The target has to be a place at which things may change, as that of a hard link has to.
    """
    if run.program != "ln" or not _is_symbolic(run):
        return None
    link = next((each.word for each in held if each.kind == "write"), None)
    if link is None:
        return None
    for each in held:
        if each.kind != "write" and (why := _strange_target(each.word, link, run, ground)):
            return Doubt("unlisted-place", f"the link {link} leads elsewhere: {why}", run.part)
    return None


def folders_of(link: Word, directories: tuple[Word, ...]) -> tuple[Word, ...]:
    """The folders in which `ln -s` may make a link: if `link` is a folder, then inside it."""
    above = (canonical(join((link, literal_word("..")), "/"), here) for here in directories)
    return tuple(dict.fromkeys((*above, *(canonical(link, here) for here in directories))))


def _strange_target(target: Word, link: Word, run: Run, ground: Ground) -> str | None:
    relative = "r" in _flags(run)  # then ln works it out from the working directory
    folders = run.directories if relative else folders_of(link, run.directories)
    if _OPEN.match(target.prefix) and not _OPEN.match(link.prefix):
        return f"anybody may put something at {target}"
    return ground.territory.no_delete(target, folders) or ground.territory.no_read(target, folders)


def _is_symbolic(run: Run) -> bool:
    return "s" in _flags(run)


def _flags(run: Run) -> str:
    """The letters of the options; the long ones as letters, too."""
    words = [word.prefix for word in run.argv[1:] if word.prefix.startswith("-")]
    long = {"--symbolic": "s", "--relative": "r"}
    return "".join(long.get(w, "") if w.startswith("--") else w[1:] for w in words)
