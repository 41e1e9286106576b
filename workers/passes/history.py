"""What earlier attempts mean for a pass: what is done, which errors count, the next numbers."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from shared.domain.attempt import Answer, Attempt, CommandResult
from shared.domain.outcome import GREEN, Outcome
from shared.domain.plan import SubtaskKind
from shared.secrets.sent import SentSubtask
from workers.passes.ports import PassOrder

_REFUSED = frozenset({Outcome.DENIED, Outcome.NEEDS_APPROVAL})
_GOES_ON = frozenset({Outcome.NEEDS_INPUT, Outcome.OVER_BUDGET})
_UNFINISHED = frozenset({Outcome.NEEDS_APPROVAL, Outcome.CANCELLED})
"""Outcomes of the planned command after which the same pass may still run it."""


def is_red(check: CommandResult | None) -> bool:
    """True for a check that ran to its end and failed; False for one that was ended early."""
    return check is not None and check.exit_code not in (0, None)


class History:
    """The attempts of a step in a run: those in the order, and those of this pass."""

    def __init__(
        self,
        order: PassOrder,
        waits: Collection[str] = (),
        settles: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`waits` are the remedies that only wait, `settles` tells which checks settle anything.

        Both come from the means (`workers.passes.means.Means`).
        """
        self._settles = settles
        self._waits = waits
        self._pass_no = order.pass_no
        self._sent_back = max((each.pass_no for each in order.rejections), default=0)
        agents = [s.ordinal for s in order.subtasks if s.kind is SubtaskKind.AGENT]
        self._author = agents[-1] if self._sent_back and agents else None
        self._numbers: dict[int, int] = defaultdict(int)
        self._revision: dict[int, list[Attempt]] = defaultdict(list)
        self._pass: dict[int, list[Attempt]] = defaultdict(list)
        self._checked: dict[str, Attempt] = {}
        for attempt in order.earlier:
            self._numbers[attempt.subtask] = attempt.number
            self._note_check(attempt)
            if attempt.revision == order.revision:
                self._revision[attempt.subtask].append(attempt)
                if attempt.pass_no == order.pass_no:
                    self._pass[attempt.subtask].append(attempt)
        self.errors = sum(attempt.counted for attempt in _counting(order))

    def add(self, attempt: Attempt) -> None:
        """Add a finished attempt; of a rollback, only its number counts here."""
        self._numbers[attempt.subtask] = attempt.number
        if attempt.rollback:
            return
        self._note_check(attempt)
        self._revision[attempt.subtask].append(attempt)
        self._pass[attempt.subtask].append(attempt)
        self.errors += attempt.counted

    def next_number(self, subtask: int) -> int:
        """The number of its next attempt in this run."""
        return self._numbers[subtask] + 1

    def next_try(self, subtask: int) -> int:
        """The number of its next attempt in this pass, from 0."""
        return len(self._pass[subtask])

    def last(self, subtask: int) -> Attempt | None:
        """The last attempt of this pass that settles it; an unapproved correction does not."""
        for attempt in reversed(self._pass[subtask]):
            if attempt.correction is None or attempt.outcome is not Outcome.NEEDS_APPROVAL:
                return None if attempt.outcome in _UNFINISHED else attempt
        return None

    def correction_count(self, subtask: int) -> int:
        """How many corrected attempts of the subtask have run in this pass (S0.44)."""
        return sum(
            attempt.correction is not None
            and attempt.correction not in self._waits
            and attempt.outcome not in _REFUSED
            for attempt in self._pass[subtask]
        )

    def unknown_count(self, subtask: int) -> int:
        """How many attempts of the subtask in this pass have an unknown outcome."""
        return sum(attempt.outcome is Outcome.UNKNOWN for attempt in self._pass[subtask])

    def used_corrections(self, subtask: int) -> set[str]:
        """The corrections that were already used or refused for the subtask in this pass."""
        return {a.correction for a in self._pass[subtask] if a.correction is not None}

    def refused_remedies(self, subtask: int) -> set[str]:
        """The remedies that the guard has refused for the subtask in this pass."""
        return {
            attempt.correction
            for attempt in self._pass[subtask]
            if attempt.correction is not None and attempt.outcome in _REFUSED
        }

    def planned_keys(self, subtask: int) -> tuple[str, ...]:
        """The keys under which its command ran as planned, the newest first.

        They are those of this pass, and of the passes that it continues.
        """
        return (*_planned(self._pass[subtask]), *self.continued_keys(subtask))

    def continued_keys(self, subtask: int) -> tuple[str, ...]:
        """The same of the passes that this one continues: its agent asked, or could not pay.

        A pass in which it did not run does not come between.
        """
        ran: dict[int, list[Attempt]] = defaultdict(list)
        for attempt in self._revision[subtask]:
            if attempt.result is not None and attempt.pass_no != self._pass_no:
                ran[attempt.pass_no].append(attempt)
        found: list[str] = []
        for pass_no in sorted(ran, reverse=True):
            if ran[pass_no][-1].outcome not in _GOES_ON:
                break
            found += _planned(ran[pass_no])
        return tuple(found)

    def tried_commands(self, subtask: int) -> set[str]:
        """The commands that have already run for the subtask in this pass."""
        return {attempt.command for attempt in self._pass[subtask]}

    def done_before(self, subtask: SentSubtask) -> bool:
        """Whether it was green in this revision and has no check that could say otherwise now.

        S1.15: finished work is not redone, unless what came of it was rejected.
        """
        of_revision = self._revision[subtask.ordinal]
        if not of_revision or of_revision[-1].outcome not in GREEN:
            return False
        if of_revision[-1].pass_no <= self._sent_back:
            return False
        return subtask.check is None or not self._settles(subtask.check)

    def is_sent_back(self, subtask: int) -> bool:
        """Whether its agent has to put right what was rejected, although its check is green.

        Of several agents of a step, that is the last one: it finds the work of the others.
        """
        if subtask != self._author:
            return False
        worked = (a.pass_no for a in self._revision[subtask] if a.result is not None)
        return max(worked, default=0) <= self._sent_back

    def seen_red(self, subtask: int) -> bool:
        """Whether its check was red in any attempt of this revision, or before it."""
        return any(
            is_red(attempt.check) or _began_red(attempt)
            for attempt in self._revision[subtask]
            if attempt.outcome is not Outcome.PRECONDITION_UNMET
        )

    def last_with(self, check: str) -> Attempt | None:
        """The last attempt that anything was done in and that check was looked at after."""
        return self._checked.get(check)

    def _note_check(self, attempt: Attempt) -> None:
        if attempt.result is not None and attempt.check is not None and not attempt.rollback:
            self._checked[_text(attempt.check)] = attempt


def _text(check: CommandResult) -> str:
    return check.command


def _planned(attempts: Sequence[Attempt]) -> Iterable[str]:
    """The keys of those in which the command ran as planned, the newest first."""
    ran = (each for each in reversed(attempts) if each.result is not None)
    return (each.key for each in ran if each.correction is None)


def _began_red(attempt: Attempt) -> bool:
    """Whether its check was red before it, and green after it."""
    return attempt.result is not None and attempt.check is not None and not attempt.never_red


def _counting(order: PassOrder) -> Iterable[Attempt]:
    """The earlier attempts whose errors count in this pass.

    These are the attempts of this pass and of the passes that it continues: a pass that stopped to
    wait for an approval, for money, or for a person to say how a command ended, is not over. A pass
    that is over has had its answer (another try of a step whose recovery is `retry`, S1.4, or a
    person's resume, S1.13; a new revision starts without errors), so its errors do not count again.
    """
    passes: dict[int, list[Attempt]] = defaultdict(list)
    for attempt in order.earlier:
        if attempt.revision == order.revision:
            passes[attempt.pass_no].append(attempt)
    counting = list(passes.pop(order.pass_no, ()))
    for pass_no in sorted(passes, reverse=True):
        if not _waits_for_person(passes[pass_no][-1]):
            break
        counting += passes[pass_no]
    return counting


def _waits_for_person(last: Attempt) -> bool:
    """Whether a pass with this last attempt stopped to wait for a person."""
    if last.outcome is Outcome.UNKNOWN or last.told_by_person is Answer.RAN:
        return True
    if last.outcome is Outcome.OVER_BUDGET:
        return True
    return last.outcome is Outcome.NEEDS_APPROVAL and last.correction is None
