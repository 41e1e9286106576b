"""Reviews the commands of an answer where they arrive, before a person would have to.

What the guard denies or a person would be asked about, a secret that is written out, and a check
that proves nothing goes back to the planner once, all of it together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from shared.domain.acceptance import Proofs
from shared.domain.approval import SubtaskPart
from shared.domain.errors import Rejected
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.verdict import Verdict
from shared.guard import Guard, PlanGuard
from shared.secrets.sent import as_sent
from shared.secrets.written import contains_secret, without_secrets

GuardFor = Callable[[tuple[str, ...], str], Guard]
"""Returns the guard of a host (of any, without a name) under a task's own forbidden entries."""


class AnswerFaultKind(StrEnum):
    """What is wrong with a text of an answer."""

    UNUSABLE = "unusable"
    SECRET = "secret"  # noqa: S105 - a word
    DENIED = "denied"
    WAITS = "waits"
    VACUOUS_CHECK = "vacuous check"
    CHANGING_CHECK = "changing check"
    LEFT_OUT_CHECK = "left out check"


_FINAL = frozenset({AnswerFaultKind.UNUSABLE, AnswerFaultKind.SECRET})


@dataclass(frozen=True, slots=True)
class AnswerFault:
    """One fault of an answer, in words for its planner; `place` names subtask and field.

    As text, it shows no secret that the answer holds.
    """

    kind: AnswerFaultKind
    reason: str
    place: str = ""

    @property
    def final(self) -> bool:
        """Whether an answer that keeps it cannot be used.

        All others are what the pass deals with: the guard stops the step or asks a person, and a
        check that proves nothing settles nothing.
        """
        return self.kind in _FINAL

    def __str__(self) -> str:
        return without_secrets(f"{self.place}: {self.reason}" if self.place else self.reason)


class ProofJudge(Proofs, Protocol):
    """Judges checks (`shared.guard.proofs`)."""

    def is_vacuous(self, check: str) -> bool:
        """Whether it is green whatever the host is like."""
        ...

    def change_in(self, check: str) -> str:
        """The part of it that changes something; empty for none."""
        ...


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Reviews lists of subtasks for some hosts of a task.

    `others` are the subtasks of the same plan that are known already: what they write, this list
    must not run without a person. With `asks_anyway`, a person approves all commands in any case.
    `agents` says that the work of agents was offered.
    """

    guard_for: GuardFor
    proofs: ProofJudge
    hosts: Sequence[str]
    forbidden: tuple[str, ...] = ()
    others: Sequence[Subtask] = ()
    asks_anyway: bool = False
    agents: bool = False

    def faults(self, subtasks: Sequence[Subtask]) -> list[AnswerFault]:
        """Every fault of the list, in its order."""
        guards = self._guards(subtasks)
        return [fault for subtask in subtasks for fault in self._of_subtask(subtask, guards)]

    def _of_subtask(
        self, subtask: Subtask, guards: Mapping[str, PlanGuard]
    ) -> Iterator[AnswerFault]:
        if contains_secret(subtask.title):
            yield _secret(subtask, "title")
        if subtask.agent is not None and not self.agents:
            told = f"subtask {subtask.key!r}: no agent is offered here; plan it as commands"
            yield AnswerFault(AnswerFaultKind.UNUSABLE, told)
        try:
            sent, undo = as_sent(subtask), list(_rollback(subtask))
        except Rejected as error:  # a ${secret:…} that no command can receive
            yield AnswerFault(AnswerFaultKind.UNUSABLE, f"subtask {subtask.key!r}: {error.reason}")
            return
        for part, text in (*sent.texts(), *undo):
            if contains_secret(text):
                yield _secret(subtask, part.value)
            is_shell = subtask.kind is SubtaskKind.COMMAND or part is not SubtaskPart.COMMAND
            if is_shell:
                yield from self._verdicts(subtask, part, text, guards)
        for precondition in sent.preconditions:
            yield from self._changes(subtask, "precondition", precondition)
        if sent.check is not None:
            yield from self._of_check(subtask, sent.check)

    def _verdicts(
        self, subtask: Subtask, part: SubtaskPart, text: str, guards: Mapping[str, PlanGuard]
    ) -> Iterator[AnswerFault]:
        found = {host: guard.judge(text) for host, guard in guards.items()}
        told: dict[AnswerFault, list[str]] = {}
        for named, verdict in found.items():
            fault = self._of_verdict(subtask, part, verdict)
            if fault is not None:
                told.setdefault(fault, []).append(named)
        for fault, hosts in told.items():
            where = "" if len(hosts) == len(found) else f" (on {', '.join(hosts)})"
            yield AnswerFault(fault.kind, f"{fault.reason}{where}", fault.place)

    def _of_verdict(
        self, subtask: Subtask, part: SubtaskPart, verdict: Verdict
    ) -> AnswerFault | None:
        if verdict.allowed:
            return None
        why = verdict.reason or verdict.rule
        place = _place(subtask, part.value)
        if verdict.denied:
            told = f"it is denied, and no person can let it run: {why}"
            return AnswerFault(AnswerFaultKind.DENIED, told, place)
        if self.asks_anyway or (subtask.critical and part is SubtaskPart.COMMAND):
            return None
        told = f"it would wait for a person because {why}; keep it only if nothing else serves"
        return AnswerFault(AnswerFaultKind.WAITS, told, place)

    def _of_check(self, subtask: Subtask, check: str) -> Iterator[AnswerFault]:
        if self.proofs.is_vacuous(check):
            told = (
                "it is green whatever the host is like, so it proves nothing: look at the effect "
                "of the command, or leave the check empty if the command itself is one"
            )
            yield AnswerFault(AnswerFaultKind.VACUOUS_CHECK, told, _place(subtask, "check"))
        else:
            yield from self._changes(subtask, "check", check)

    def _changes(self, subtask: Subtask, field: str, text: str) -> Iterator[AnswerFault]:
        part = self.proofs.change_in(text)
        if part:
            told = f"a {field} only looks, and `{part[:200]}` changes something on the host"
            yield AnswerFault(AnswerFaultKind.CHANGING_CHECK, told, _place(subtask, field))

    def _guards(self, subtasks: Sequence[Subtask]) -> dict[str, PlanGuard]:
        """A guard for the hosts of each policy, under the names of these hosts."""
        hosts: dict[str, list[str]] = {}
        guards: dict[str, Guard] = {}
        for host in self.hosts or ("",):
            guard = self.guard_for(self.forbidden, host)
            guards.setdefault(guard.version, guard)
            hosts.setdefault(guard.version, []).append(host)
        texts = list(_all_texts((*subtasks, *self.others)))
        return {
            ", ".join(named): PlanGuard(guards[version], texts) for version, named in hosts.items()
        }


def left_out(check: str) -> AnswerFault:
    """A revision does not make an acceptance check of the first plan, and does not say why."""
    told = (
        f"the check `{check}` of the first plan, which stands for the result of the step, is not "
        "made any more: keep it, or name it in `dropped_checks` with the reason"
    )
    return AnswerFault(AnswerFaultKind.LEFT_OUT_CHECK, told)


def _secret(subtask: Subtask, field: str) -> AnswerFault:
    told = (
        "it holds a secret in plain text: name the secret instead, as ${secret:NAME}, and the "
        "command receives its value"
    )
    return AnswerFault(AnswerFaultKind.SECRET, told, _place(subtask, field))


def _place(subtask: Subtask, field: str) -> str:
    return f"subtask {subtask.key!r}, {field}"


def _rollback(subtask: Subtask) -> Iterator[tuple[SubtaskPart, str]]:
    if subtask.rollback is not None:
        undo = Subtask(subtask.ordinal, subtask.key, subtask.title, subtask.rollback)
        yield SubtaskPart.ROLLBACK, as_sent(undo).command


def _all_texts(subtasks: Iterable[Subtask]) -> Iterator[str]:
    """Every text of the subtasks in its final bytes; those that have none are left out."""
    for subtask in subtasks:
        try:
            yield from (text for _, text in (*as_sent(subtask).shell_texts(), *_rollback(subtask)))
        except Rejected:
            continue
