"""A person who is told what to type is told what it is for."""

import io
from decimal import Decimal
from itertools import product

import pytest

from orchestrator.cli.tables import next_steps as print_next_steps
from orchestrator.cli.terminal import Terminal
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.next_steps import next_steps
from orchestrator.words.purposes import purpose_of
from shared.domain.ids import parse_ref
from shared.domain.next_step import Blank, NextStep, command_line
from shared.domain.spending import Cap, CapReached, Unpaid

PLACES = ("T1", "T1@web1", "T1.2", "T1.2@web1")


@pytest.mark.parametrize("kind", InterventionKind)
def test_every_way_on_says_what_it_is_for(kind: InterventionKind) -> None:
    """Wherever it waits, and each differs from the others of its list."""
    for place, stopped in product(PLACES, (False, True)):
        ref = parse_ref(place)
        for approvable in (False, True):
            ways = next_steps(kind, ref, None, number=7, approvable=approvable, stopped=stopped)
            told = [purpose_of(way) for way in ways]
            assert all(told), [command_line(way) for way in ways]
            assert len({*told}) == len(told)


@pytest.mark.parametrize("kind", InterventionKind)
def test_a_planner_that_is_a_person_is_not_asked_by_another_way(kind: InterventionKind) -> None:
    """Only what was held for it is sent: that asks the person."""
    told = {
        command_line(way) for way in next_steps(kind, parse_ref("T1.2@web1"), None, by_hand=True)
    }
    assert "replan step revise T1.2@web1 --now" not in told
    assert ("replan bundle send T1.2@web1" in told) == (kind is InterventionKind.HELD_BUNDLE)


@pytest.mark.parametrize("cap", Cap)
def test_every_way_to_pay_says_what_it_is_for(cap: Cap) -> None:
    unpaid = Unpaid(1, CapReached(cap, Decimal(1), Decimal(2), Decimal(1), "a-model"))
    ways = next_steps("budget", parse_ref("T1.2@web1"), None, unpaid=unpaid)
    assert all(purpose_of(way) for way in ways), [command_line(way) for way in ways]


def test_the_same_advice_with_another_blank_is_told_once() -> None:
    ref = parse_ref("T1.2@web1")
    given = NextStep.of("step revise", ref, file=Blank("FILE"))
    assert next_steps("escalation", ref, given) == next_steps("escalation", ref, None)
    other = NextStep.of("task submit", plan="a.yaml", local=True)
    assert next_steps("escalation", ref, other)[0] == other


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_is_told(terminal: bool) -> None:
    """What a program reads behind `next: ` is a command and nothing else."""
    written = io.StringIO()
    console = Terminal(file=written, force_terminal=terminal, color_system=None, width=80)
    print_next_steps(console, [NextStep.of("task cancel", "T1")])
    assert ("# stop the whole task" in written.getvalue()) is terminal
    assert written.getvalue().startswith("next: replan task cancel T1")
