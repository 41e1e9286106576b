"""While claims fail, a worker asks for one job at a time, and does not insist."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from shared.domain.errors import Transient
from shared.store.database import InDoubt
from workers.process.lifecycle import CLAIM_PAUSES, Lifecycle


class Claims(Lifecycle):
    """A lifecycle whose claims end as the test says, one after the other."""

    def __init__(self, *ends: Exception | None) -> None:
        keeper = cast("Any", SimpleNamespace(presence=0))
        none = cast("Any", None)
        super().__init__(none, none, keeper, owner="w", lease=1, queues=(), performers={})
        self._ends = list(ends)
        self.tried = 0

    def _try_claim(self, *_: object, **__: object) -> Any:
        self.tried += 1
        end = self._ends.pop(0)
        if end is not None:
            raise end
        self._claims_fail = False
        return []


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)


AWAY = Transient("away", stage="database")
DOUBT = InDoubt("lost", stage="database")
ALL = [AWAY] * (len(CLAIM_PAUSES) + 1)


def test_a_claim_that_fails_for_long_makes_the_next_fail_at_once() -> None:
    claims = Claims(*ALL, AWAY, None, None)
    with pytest.raises(Transient):
        claims.take([1])
    assert claims.tried == len(ALL)
    assert claims.claims_fail
    with pytest.raises(Transient):
        claims.take([2])
    assert claims.tried == len(ALL) + 1
    claims.take([3])
    assert not claims.claims_fail


def test_a_claim_in_doubt_is_repeated_whatever_happened_before() -> None:
    claims = Claims(*ALL, DOUBT, None)
    with pytest.raises(Transient):
        claims.take([1])
    assert claims.take([2]) == []
    assert claims.tried == len(ALL) + 2
