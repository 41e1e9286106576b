"""The load: tasks of several shapes, the ends of which are all known before they are submitted."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from orchestrator.acts.submission import Submission
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.outcome import Outcome
from shared.domain.plan import OnFailure, Plan, Recovery, Step, Subtask
from shared.domain.task import TaskPhase
from tests.chaos.ledger import Ledger
from tests.chaos.orders import Known, Order, Try

BY_HAND: Final = Author(PlanningRole.HUMAN, "human")
RETRIES: Final = 2
BULK: Final = 5000
"""Lines of a long output: more than a row holds, so that the rest of it goes elsewhere."""

POLICY: Final = Policy(
    retry_delay=0.2, max_retry_count=RETRIES, max_transient_failures=1000, subtask_timeout=120.0
)

SPANS: Final = ((0.02, 0.2), (0.2, 0.8), (0.8, 3.0))
WEIGHTS: Final = (70, 24, 6)
"""How long a command takes (s), and how many in a hundred take so long."""


class Load:
    """Makes orders, the same ones for the same seed.

    `folder` is one in which the commands may make files of their own; tasks are spread over the
    `targets`.
    """

    def __init__(
        self, ledger: Ledger, folder: Path, targets: Sequence[str], chance: random.Random
    ) -> None:
        self._ledger = ledger
        self._folder = folder
        self._targets = targets
        self._chance = chance
        self._drawn = 0
        self._shapes: dict[Callable[[str], Order], int] = {
            self.in_a_row: 50,
            self.side_by_side: 15,
            self.at_the_second_try: 8,
            self.hopeless: 6,
            self.corrected: 8,
            self.replanned: 8,
            self.forbidden: 5,
        }

    def draw(self) -> Order:
        """The next order."""
        self._drawn += 1
        shapes, weights = list(self._shapes), list(self._shapes.values())
        (shape,) = self._chance.choices(shapes, weights)
        return shape(f"k{self._drawn}")

    def in_a_row(self, tag: str) -> Order:
        """Steps that need each other, each with a few commands."""
        counts = [self._chance.randint(2, 4) for _ in range(self._chance.randint(1, 3))]
        steps, known = self._plain_steps(tag, counts)
        chained = [
            _step(number, subtasks, depends_on=(number - 1,) if number > 1 else ())
            for number, subtasks in enumerate(steps, start=1)
        ]
        return self._order(tag, chained, known)

    def side_by_side(self, tag: str) -> Order:
        """Steps that may run at the same time, on the same host."""
        steps, known = self._plain_steps(tag, [2, 2, 2])
        apart = [_step(number, subtasks) for number, subtasks in enumerate(steps, start=1)]
        return self._order(tag, apart, known)

    def at_the_second_try(self, tag: str) -> Order:
        """A command that fails until the one after it has run, so that the second pass is green."""
        flag, first, second = self._folder / f"flag-{tag}", f"{tag}.1.1", f"{tag}.1.2"
        look = f"test -e {flag}; r=$?; {self._ledger.ends(first)}; exit $r"
        subtasks = (
            _subtask(1, f"{self._ledger.begins(first)}; {self._pause()}; {look}"),
            _subtask(2, f"{self._text(second)}; : >{flag}"),
        )
        known = (
            Known(first, 1, 1, (Try(Outcome.FAILED, 1), Try())),
            Known(second, 1, 2, (_said(second),)),
        )
        return self._order(tag, [_step(1, subtasks)], known)

    def hopeless(self, tag: str) -> Order:
        """A command that fails in every pass, until the step is given up."""
        name = f"{tag}.1.1"
        failing = _step(1, (_subtask(1, f"{self._text(name)}; exit 7"),), OnFailure.CONTINUE)
        known = Known(name, 1, 1, (_said(name, Outcome.FAILED, 7),) * RETRIES)
        return self._order(tag, [failing], (known,), phase=TaskPhase.ERROR)

    def corrected(self, tag: str) -> Order:
        """A command that fails for want of a folder, and is corrected in the same pass."""
        name, folder = f"{tag}.1.1", self._folder / f"new-{tag}"
        makes = f"touch {folder}/file && {self._ledger.ends(name)}"
        subtask = _subtask(1, f"{self._ledger.begins(name)}; {self._pause()}; {makes}")
        known = Known(name, 1, 1, (Try(Outcome.FAILED, 1, stderr=None), Try()))
        return self._order(tag, [_step(1, (subtask,))], (known,))

    def replanned(self, tag: str) -> Order:
        """A task that the library plans, whose second step fails and is planned anew."""
        names = [f"{tag}.{place}" for place in ("1.1", "2.1", "2.1r1", "2.2r1")]
        known = (
            Known(names[0], 1, 1, (_told(names[0]),)),
            Known(names[1], 2, 1, (_told(names[1], Outcome.FAILED, 5),)),
            Known(names[2], 2, 1, (_told(names[2]),), revision=1),
            Known(names[3], 2, 2, (_told(names[3]),), revision=1),
        )
        policy = Policy(
            retry_delay=POLICY.retry_delay,
            max_transient_failures=POLICY.max_transient_failures,
            planner="runbook",
            subtask_planner="runbook",
        )
        target = self._chance.choice(self._targets)
        submission = Submission(f"rehearse {tag}", (target,), policy, key=tag)
        return Order(tag, target, submission, known)

    def forbidden(self, tag: str) -> Order:
        """A step that the guard stops: neither what it forbids nor what comes after may run."""
        names = [f"{tag}.1.{number}" for number in (1, 2, 3)]
        subtasks = (
            _subtask(1, self._text(names[0])),
            _subtask(2, f"mkfs.ext4 {self._folder}/no-device; {self._text(names[1])}", needs=(1,)),
            _subtask(3, self._text(names[2]), needs=(2,)),
        )
        known = (
            Known(names[0], 1, 1, (_said(names[0]),)),
            Known(names[1], 1, 2, (Try(Outcome.DENIED, None),)),
            Known(names[2], 1, 3, ()),
        )
        return self._order(tag, [_step(1, subtasks)], known, phase=TaskPhase.WAITING)

    def library(self) -> str:
        """The runbook file that plans, and revises, what `replanned` submits."""
        return LIBRARY.format(ledger=self._ledger.file)

    def _plain_steps(
        self, tag: str, counts: Sequence[int]
    ) -> tuple[list[tuple[Subtask, ...]], tuple[Known, ...]]:
        steps, known = [], []
        for step, count in enumerate(counts, start=1):
            subtasks = []
            for number in range(1, count + 1):
                name = f"{tag}.{step}.{number}"
                bulk = BULK if self._chance.random() < 0.1 else 0
                needs = (number - 1,) if number > 1 else ()
                subtasks.append(_subtask(number, self._text(name, bulk), needs=needs))
                known.append(Known(name, step, number, (_said(name, bulk=bulk),)))
            steps.append(tuple(subtasks))
        return steps, tuple(known)

    def _text(self, name: str, bulk: int = 0) -> str:
        says = f"printf 'out %s\\n' {name}; printf 'err %s\\n' {name} >&2"
        says = f"{says}; seq 1 {bulk}" if bulk else says
        return f"{self._ledger.begins(name)}; {self._pause()}; {says}; {self._ledger.ends(name)}"

    def _pause(self) -> str:
        (span,) = self._chance.choices(SPANS, WEIGHTS)
        return f"sleep {self._chance.uniform(*span):.2f}"

    def _order(
        self,
        tag: str,
        steps: Sequence[Step],
        known: tuple[Known, ...],
        phase: TaskPhase = TaskPhase.DONE,
    ) -> Order:
        target = self._chance.choice(self._targets)
        plan = Plan(tuple(steps))
        submission = Submission(f"rehearsal {tag}", (target,), POLICY, plan=plan, key=tag)
        return Order(tag, target, submission, known, phase)


def _step(
    ordinal: int,
    subtasks: tuple[Subtask, ...],
    on_failure: OnFailure = OnFailure.STOP,
    depends_on: tuple[int, ...] = (),
) -> Step:
    return Step(
        ordinal,
        f"s{ordinal}",
        f"step {ordinal}",
        "",
        BY_HAND,
        depends_on=depends_on,
        recovery=Recovery.RETRY,
        on_failure=on_failure,
        subtasks=subtasks,
    )


def _subtask(number: int, command: str, needs: tuple[int, ...] = ()) -> Subtask:
    keys = tuple(f"c{needed}" for needed in needs)
    return Subtask(number, f"c{number}", f"command {number}", command, needs=keys)


def _said(name: str, outcome: Outcome = Outcome.OK, exit_code: int = 0, *, bulk: int = 0) -> Try:
    more = "".join(f"{number}\n" for number in range(1, bulk + 1))
    return Try(outcome, exit_code, f"out {name}\n{more}", f"err {name}\n")


def _told(name: str, outcome: Outcome = Outcome.OK, exit_code: int = 0) -> Try:
    told = f"{name} is out of order\n" if exit_code else ""
    return Try(outcome, exit_code, f"out {name}\n", told)


LIBRARY: Final = """\
jobs:
  - id: rehearsal
    match: ["^rehearse (?P<tag>k[0-9]+)$"]
    steps:
      - id: first
        title: What goes well
        subtasks:
          - run: >-
              printf 'B %s\\n' ${{tag}}.1.1 >>{ledger}; sleep 0.1;
              printf 'out %s\\n' ${{tag}}.1.1; printf 'E %s\\n' ${{tag}}.1.1 >>{ledger}
      - id: second
        title: What goes wrong
        subtasks:
          - run: >-
              printf 'B %s\\n' ${{tag}}.2.1 >>{ledger}; sleep 0.1;
              printf 'out %s\\n' ${{tag}}.2.1; printf '%s is out of order\\n' ${{tag}}.2.1 >&2;
              printf 'E %s\\n' ${{tag}}.2.1 >>{ledger}; exit 5
    revisions:
      - step: second
        when: "is out of order"
        reason: It goes another way.
        subtasks:
          - run: >-
              printf 'B %s\\n' ${{tag}}.2.1r1 >>{ledger}; sleep 0.1;
              printf 'out %s\\n' ${{tag}}.2.1r1; printf 'E %s\\n' ${{tag}}.2.1r1 >>{ledger}
          - run: >-
              printf 'B %s\\n' ${{tag}}.2.2r1 >>{ledger}; sleep 0.3;
              printf 'out %s\\n' ${{tag}}.2.2r1; printf 'E %s\\n' ${{tag}}.2.2r1 >>{ledger}
"""
