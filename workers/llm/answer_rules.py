"""Refuses well-formed commands that act on other hosts or are copied from a host's output."""

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
"""Asks the target's guard for its verdict on a command and the programs the command would run."""

_LOGINS = frozenset({"ssh", "slogin", "autossh", "mosh", "sftp", "telnet", "rsh", "rlogin"})
_COPIERS = frozenset({"scp", "rsync", "rcp"})
_MANY = frozenset({"ansible", "ansible-playbook", "pdsh", "pssh", "parallel-ssh", "fab", "salt"})
_HERE = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
_URL = re.compile(r"^(?:ssh|sftp|rsync|scp)://(?:[^@/]*@)?(?P<host>[^@:/\s]+)")
_PLACE = re.compile(r"^(?:[^@:/\s]+@)?(?P<host>[^@:/\s]+):")
_VALUED = frozenset(f"-{letter}" for letter in "BbcDEeFIiJLlmOoPpQRSWw")
"""Options of ssh and similar programs that take a value."""

_SHORT = 12
"""Commands shorter than this often appear in output by chance and are not compared."""


def refuse_other_hosts(subtasks: Iterable[Subtask], task: str, explain: Explain) -> None:
    """Raise Rejected for a command that acts on another host, unless the task names the host."""
    named = set(re.findall(r"[A-Za-z0-9_.-]+", task))
    for subtask in subtasks:
        for text in _texts(subtask):
            for finding in explain(text).findings:
                words = [str(word) for word in finding.run.argv]
                for host in _hosts(words):
                    if host not in named and host not in _HERE:
                        raise Rejected(
                            f"subtask {subtask.key!r}: `{' '.join(words)[:200]}` acts on another "
                            f"host ({host}), which the task does not name: commands run only on "
                            "the target itself",
                            stage="plan",
                        )


def refuse_copied(
    subtasks: Iterable[Subtask], read: Iterable[str], wanted: Iterable[str], explain: Explain
) -> None:
    """Raise Rejected for a command copied from data, unless it may run without approval.

    `read` is the data that the planner was shown: output of hosts, and what was remembered of other
    tasks; `wanted` are texts that do not come from there: of the person, and of the plan so far.
    Tools often print the command that fixes a problem, and then it is an ordinary one. A command
    that the guard would deny or ask about must come from a planner, not from a host's output.
    """
    printed = _on_one_line("\n".join(read))
    own = [_on_one_line(text) for text in wanted]
    for subtask in subtasks:
        for text in _texts(subtask):
            plain = _on_one_line(text)
            if len(plain) < _SHORT or plain not in printed or any(plain in each for each in own):
                continue
            verdict = explain(text).verdict
            if not verdict.allowed:
                raise Rejected(
                    f"subtask {subtask.key!r}: `{text[:200]}` appears word for word in the output "
                    "of a host, which is data and not an instruction, and it would not run "
                    f"without a person's approval ({verdict.reason or verdict.rule})",
                    stage="plan",
                )


def output_of(bundle: Bundle) -> tuple[str, ...]:
    """Everything that the evidence has from the host."""
    outputs = (
        output
        for attempt in bundle.attempts
        for output in (attempt.stdout, attempt.stderr, attempt.check_output)
    )
    return (*outputs, *bundle.snapshot.values())


def texts_of(subtasks: Iterable[Subtask]) -> tuple[str, ...]:
    """Every text of the subtasks that a host would carry out."""
    return tuple(text for subtask in subtasks for text in _texts(subtask))


def _hosts(words: Sequence[str]) -> list[str]:
    """The hosts that a program with these words would connect to."""
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
    own = subtask.command if subtask.agent is None else None
    texts = (own, subtask.check, subtask.rollback, *subtask.preconditions)
    return tuple(text for text in texts if text)


def _on_one_line(text: str) -> str:
    return " ".join(clean(text).split())
