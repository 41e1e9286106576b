"""Which cost budgets a person may set, whatever face asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.acts import budgets
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.unpaid import UnpaidView
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.spending import Cap

STEP = Ref(1, 1)
PROPOSED = NextStep.of("step raise", STEP, cost_budget="0.12")


class Nothing:
    """A caller who may do everything, over a database that nobody reads."""

    database: Any

    def __init__(self) -> None:
        self.database = self

    def may(self, verb: str) -> None:
        """Anything."""

    @contextmanager
    def begin(self) -> Iterator[None]:
        """See `Database`."""
        yield


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that waits for a budget, and whose models have cost nothing yet."""
    unpaid = UnpaidView(Ref(1, 1, 1), Cap.BUDGET, 0.0, 0.0, 0.0, "free")
    waits = SimpleNamespace(kind=InterventionKind.BUDGET, unpaid=unpaid, next_step=PROPOSED)
    view = SimpleNamespace(step=SimpleNamespace(ref=STEP), interventions=[waits])
    monkeypatch.setattr(budgets, "require_step", lambda *_: (None, None))
    monkeypatch.setattr(budgets, "step_view", lambda *_: view)


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize(
    "dollars", [-1.0, float("nan"), float("inf"), 1e-9, 100_000.01, 1e8, 1e300]
)
def test_no_budget_is_set_that_its_row_cannot_hold(dollars: float) -> None:
    """A row of that amount would fail in the commit of the coordinator, or mean no budget."""
    caller: Any = Nothing()
    told = r"is not a valid amount in dollars; allowed: 0 .* to 100000"
    with pytest.raises(Rejected, match=told) as e:
        budgets.raise_budget(caller, STEP, dollars)
    assert (e.value.stage, e.value.next_step) == ("input", PROPOSED)
