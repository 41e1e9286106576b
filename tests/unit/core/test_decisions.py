"""Every decision is carried out: mypy refuses a new one that nobody handles, and so does a run."""

from typing import Any, get_args

import pytest

from orchestrator import coordinator, outbox
from orchestrator.core import decisions as d
from orchestrator.core.intervention_kind import InterventionKind


class NewDecision:
    """One that somebody forgot to handle."""


def test_a_decision_that_nobody_carries_out_is_not_passed_over() -> None:
    """Neither where rows are written nor where runs are told."""
    forgotten: Any = NewDecision()
    nowhere: Any = None
    with pytest.raises(AssertionError):
        outbox.carry_out(nowhere, [(1, None, forgotten)], set())
    with pytest.raises(AssertionError):
        coordinator._fact_for_runs(forgotten)


def test_the_decisions_are_those_of_the_module() -> None:
    """None is defined and left out of the union by which mypy checks the handlers."""
    defined = {
        kind
        for kind in vars(d).values()
        if isinstance(kind, type) and kind.__module__ == d.__name__ and kind.__doc__
    } - {InterventionKind}
    assert defined == set(get_args(d.Decision))
