"""What a check proves: whether its exit code says anything about the host, and what it changes."""

import re
from functools import cache
from threading import Lock

from shared.guard.display_safety import objection
from shared.guard.guard import Guard
from shared.guard.policy.allowlist import Coverage
from shared.guard.policy.operands import COMMAND
from shared.guard.policy.policy import changes, looks
from shared.guard.shell.convert import Unreadable
from shared.guard.shell.endings import SHELLS, Ending, Endings, Followed
from shared.guard.shell.fast_path import plain_words
from shared.guard.shell.parse import Dialect, Shfmt, dialects, installed_shfmt
from shared.guard.shell.tree import Block
from shared.guard.words import Run

_ONLY_CHANGE = frozenset({
    *("touch", "mkdir", "rm", "rmdir", "unlink", "mv", "cp", "ln", "install", "truncate", "dd"),
    *("chmod", "chown", "chgrp", "kill", "pkill", "killall", "useradd", "groupadd", "mkfifo"),
})  # fmt: skip
"""Programs that change something wherever they are not a look."""

_ALSO_LOOK = frozenset({
    *("tar", "unzip", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "rsync"),
})  # fmt: skip
"""Programs of which the rules do not tell whether they only list or test."""

_SAVES = re.compile(r"-[A-Za-z]*[oO]|--output|--remote-name")
"""The options with which curl does."""

_FETCHES = frozenset({"curl", "wget"})
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_MOST_KNOWN = 4096


class ProofRules:
    """Judges checks by what is known of the shell and of programs. Thread-safe."""

    def __init__(self, shfmt: Shfmt | None = None) -> None:
        self._shfmt = shfmt or installed_shfmt()
        self._looks = Guard(looks(), self._shfmt)
        self._changes = Guard(changes(), self._shfmt)
        self._proving: dict[str, bool] = {}
        self._lock = Lock()

    def is_vacuous(self, check: str) -> bool:
        """Whether it ends with exit code 0 whatever the host is like: it looks at nothing.

        `true`, `echo …`, `… || true` and `… | cat` are vacuous; a check that only asks whether a
        program exists is not. False for what cannot be read.
        """
        endings = self._endings(check)
        return endings is not None and all(ending.ok for ending in endings)

    def change_in(self, check: str) -> str:
        """The part of a check that changes something on its host; empty if none is known to.

        The profile of mere looks decides, and of what it does not list, what is known to write:
        a program that nobody knows may be a look.
        """
        if self._looks.judge(check).allowed:
            return ""
        looked = self._looks.explain(check).findings
        changed = self._changes.explain(check).findings
        for look, change in zip(looked, changed, strict=False):
            if look.doubt is not None and _writes(look, change):
                return look.run.part or check.strip()
        return ""

    def proves(self, check: str) -> bool:
        """Whether a green answer of the check says that something is so on the host."""
        with self._lock:
            known = self._proving.get(check)
        if known is None:
            known = not self.is_vacuous(check) and not self.change_in(check)
            with self._lock:
                if len(self._proving) >= _MOST_KNOWN:
                    self._proving.clear()
                self._proving[check] = known
        return known

    def is_look(self, command: str) -> bool:
        """Whether a command is a check itself: it only looks, and its exit code says something."""
        if not self._looks.judge(command).allowed:
            return False
        endings = self._endings(command)
        return endings is not None and len({ending.ok for ending in endings}) > 1

    def _endings(self, text: str) -> Endings | None:
        """How a text may end under any shell; None for one that cannot be read."""
        try:
            if objection(text):
                return None
            words = plain_words(text)
            if words and words[0].rpartition("/")[2] not in SHELLS:
                return Followed(self._unparsed).words(words)
            each = [self._in_dialect(text, dialect) for dialect in dialects("sh", text)]
        except (Unreadable, RecursionError):
            return None
        return frozenset[Ending]().union(*each)

    @staticmethod
    def _unparsed(text: str) -> Block:
        raise Unreadable(f"it is a text for another shell: {text}")

    def _in_dialect(self, text: str, dialect: Dialect) -> Endings:
        return Followed(lambda inner: self._shfmt.parse(inner, dialect)).text(text)


@cache
def proof_rules() -> ProofRules:
    """The rules, built once in a process."""
    return ProofRules()


def _saves(run: Run) -> bool:
    """Whether curl or wget writes what it gets to a file."""
    words = [str(word) for word in run.argv[1:]]
    if not _NOWHERE.isdisjoint(words):
        return False
    return run.program == "wget" or any(map(_SAVES.match, words))


def _writes(look: Coverage, change: Coverage) -> bool:
    """Whether a run that is not a look is one that is known to change something."""
    run = look.run
    if any(str(word) not in _NOWHERE for word in run.writes) or run.program in _ONLY_CHANGE:
        return True
    known = change.allowance
    if known is None or change.doubt is not None or known.runs_code:
        return False
    if run.program in _ALSO_LOOK or (run.program in _FETCHES and not _saves(run)):
        return False
    # what another program runs there is judged by itself
    return all(slot.kind != COMMAND for slot in known.slots)
