"""Decides which looks of a pass run contained, and are allowed because they can change nothing."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from shared.domain.containment import Containment, Hidden
from shared.domain.verdict import ALLOWED, Verdict
from shared.guard.guard import Guard
from shared.guard.policy.territory import Territory
from shared.guard.reach import Need

_NO_FILES = ("/proc/", "/dev/", "~")
_OTHER_HOMES = ("/root/*", "/home/*")
"""Those of other accounts are hidden as a whole, and the own one is not."""

_CODE = (
    r"\.(pyc|js|mjs|ts|tsx|go|rb|java|html|css|scss|md|rst|svg|so|[ch]|cc|cpp|mo|po|gz)$",
    r"(secret|token|password|credential|passphrase)[^/]*\.py$",
)
"""The texts of programs: a word in their names says nothing."""

_STILL_ASKED = ("secret", "allowed_tools")
"""How the rules begin that ask for another reason than what a text might change."""


class ContainedLooks:
    """Knows which texts need nothing but files, and what is hidden from them."""

    def __init__(self, guard: Guard, looks: Guard, own: Iterable[str] = ()) -> None:
        """`guard` tells what a text needs; `looks` judges texts that may only look.

        `own` are the folders of this installation, which are hidden, too.
        """
        self._guard = guard
        self._looks = looks
        hidden = hidden_from_looks(guard.policy.territory)
        self.hidden = replace(hidden, places=(*hidden.places, *own))

    def verdict(self, text: str, containment: Containment = Containment()) -> Verdict:  # noqa: B008
        """The verdict on a text as a look, on a host with that containment."""
        verdict = self._guard.judge(text)
        contained = self.is_contained(text, verdict, lambda: containment)
        return ALLOWED if contained else verdict

    def is_contained(
        self, text: str, verdict: Verdict, containment: Callable[[], Containment]
    ) -> bool:
        """Whether a look with that verdict of the rules runs contained on a host.

        `containment` is asked only if it matters. A look that the rules allow runs contained only
        if it reads nothing but files: it may need more than can be told from its text, and the
        rules say that it is harmless.
        """
        if verdict.denied or verdict.rule.startswith(_STILL_ASKED):
            return False
        reach = self._guard.reach(text)
        if reach.needs - {Need.OWNERS}:
            return False
        if verdict.allowed and not (reach.plain_readers and self._looks.judge(text).allowed):
            return False
        there = containment()
        return there.is_there and (there.owners or not reach.needs)


def hidden_from_looks(territory: Territory) -> Hidden:
    """The secrets of a territory, as a shell and grep on the host name them."""
    secret = [pattern for pattern in territory.secret if not pattern.startswith(_NO_FILES)]
    return Hidden(
        places=tuple(
            pattern.removesuffix("/*")
            for pattern in secret
            if pattern.startswith("/") and pattern not in (*_OTHER_HOMES, *territory.public)
        ),
        names="|".join(
            _expression(pattern.removesuffix("/*"))
            for pattern in secret
            if pattern not in _OTHER_HOMES
        ),
        public="|".join((*map(_expression, territory.public), *_CODE)),
    )


def _expression(pattern: str) -> str:
    """An extended regular expression for a pattern in which `*` is any text."""
    shown = "".join(".*" if sign == "*" else re.escape(sign) for sign in pattern)
    return f"^{shown}$".replace("\\-", "-").replace("\\~", "~").replace("^.*", "")
