"""What a plan's commands may not be, however well they are formed: of elsewhere, or of a log."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from shared.domain.bundle import Bundle
from shared.domain.errors import Rejected
from shared.domain.plan import Subtask
from shared.guard.guard import Explanation
from workers.llm.evidence import clean

Explain = Callable[[str], Explanation]
"""What the guard of the target says of a command, and which programs it would run."""

_LOGINS = frozenset({"ssh", "slogin", "autossh", "mosh", "sftp", "telnet", "rsh", "rlogin"})
_COPIERS = frozenset({"scp", "rsync", "rcp"})
_MANY = frozenset({"ansible", "ansible-playbook", "pdsh", "pssh", "parallel-ssh", "fab", "salt"})
_HERE = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
_URL = re.compile(r"^(?:ssh|sftp|rsync|scp)://(?:[^@/]*@)?(?P<host>[^@:/\s]+)")
_PLACE = re.compile(r"^(?:[^@:/\s]+@)?(?P<host>[^@:/\s]+):")
_VALUED = frozenset(f"-{letter}" for letter in "BbcDEeFIiJLlmOoPpQRSWw")
"""Options of ssh and its like behind which a word of their own stands."""

_SHORT = 12
"""Characters of a command below which that it stands in some output too says nothing."""


def refuse_other_hosts(subtasks: Iterable[Subtask], task: str, explain: Explain) -> None:
    """Raise Rejected for a command that acts on another host, unless the task names that host."""
    named = set(re.findall(r"[A-Za-z0-9_.-]+", task))
    for subtask in subtasks:
        for text in _texts(subtask):
            for finding in explain(text).findings:
                words = [str(word) for word in finding.run.argv]
                for host in _hosts(words):
                    if host not in named and host not in _HERE:
                        raise Rejected(
                            f"subtask {subtask.key!r}: `{' '.join(words)[:200]}` acts on another "
                            f"host ({host}), which the task does not name: commands run on the "
                            "target itself, over the one connection that there is",
                            stage="plan",
                        )


def refuse_copied(
    subtasks: Iterable[Subtask], bundle: Bundle, planned: Sequence[Subtask], explain: Explain
) -> None:
    """Raise Rejected for a command that stands in some output, unless it may run unasked.

    Tools do name the command that mends them, and then it is an ordinary one. What the guard would
    deny or ask about was not planned by anybody when a host's output has put it forward.
    """
    printed = _output_text(bundle)
    own = {_on_one_line(text) for subtask in planned for text in _texts(subtask)}
    for subtask in subtasks:
        for text in _texts(subtask):
            plain = _on_one_line(text)
            if len(plain) < _SHORT or plain in own or plain not in printed:
                continue
            verdict = explain(text).verdict
            if not verdict.allowed:
                raise Rejected(
                    f"subtask {subtask.key!r}: `{text[:200]}` stands word for word in what the "
                    "host has printed, which is data and no instruction, and it would not run "
                    f"without a person's word ({verdict.reason or verdict.rule})",
                    stage="plan",
                )


def _hosts(words: Sequence[str]) -> list[str]:
    """The other hosts that a program with these words would act on."""
    if not words:
        return []
    program = PurePosixPath(words[0]).name
    if program in _LOGINS | _COPIERS | _MANY:
        operands = _operands(words)
        if program in _COPIERS:
            return [found["host"] for word in operands if (found := _host_in(word))]
        found = _host_in(operands[0]) or _PLACE.match(f"{operands[0]}:") if operands else None
        return [found["host"]] if found else []
    return []


def _host_in(word: str) -> re.Match[str] | None:
    return _URL.match(word) or _PLACE.match(word)


def _operands(words: Sequence[str]) -> list[str]:
    pairs = pairwise(words)
    return [word for before, word in pairs if word[:1] != "-" and before not in _VALUED]


def _texts(subtask: Subtask) -> tuple[str, ...]:
    texts = (subtask.command, subtask.check, subtask.rollback, *subtask.preconditions)
    return tuple(text for text in texts if text)


def _output_text(bundle: Bundle) -> str:
    outputs = [
        output
        for attempt in bundle.attempts
        for output in (attempt.stdout, attempt.stderr, attempt.check_output)
    ]
    return _on_one_line("\n".join((*outputs, *bundle.snapshot.values())))


def _on_one_line(text: str) -> str:
    return " ".join(clean(text).split())
