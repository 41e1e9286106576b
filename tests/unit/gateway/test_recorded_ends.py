"""The end of a call is recorded although the database is away when it ends."""

from dataclasses import dataclass, field

import httpx2
import pytest

from shared.domain.errors import Defect, ReplanError, Unavailable
from tests.unit.gateway.chain import TOKEN
from tests.unit.gateway.test_passing_through import ASKED, SAYS
from workers.attempt_token import AttemptGrant
from workers.gateway import app
from workers.gateway.accounts import NoAccounts
from workers.gateway.app import Gateway
from workers.gateway.patience import Patience
from workers.gateway.script import parse_script
from workers.gateway.scripted import ScriptedUpstream
from workers.gateway.serving import serving
from workers.gateway.upstream import ModelRequest
from workers.llm.calls import CallRecord

AWAY = Unavailable("the database is away", stage="database")


@dataclass
class Failing(NoAccounts):
    """Accounts that fail to record ends in this way, one after the other."""

    failures: list[ReplanError]
    events: list[str] = field(default_factory=list)
    records: list[CallRecord] = field(default_factory=list)

    def begin(self, grant: AttemptGrant, request: ModelRequest) -> int:  # noqa: ARG002 - a port
        """See `Accounts`."""
        self.events.append("begin")
        return 7

    def end(
        self,
        number: int,
        grant: AttemptGrant,  # noqa: ARG002 - a port
        request: ModelRequest,  # noqa: ARG002 - a port
        record: CallRecord,
    ) -> None:
        """See `Accounts`."""
        assert number == 7
        self.records.append(record)
        if self.failures:
            self.events.append("fail")
            raise self.failures.pop(0)
        self.events.append("end")


def ask_twice(accounts: Failing, patience: float) -> list[int]:
    """The statuses of two requests of one attempt, one after the other."""
    upstream = ScriptedUpstream(parse_script([SAYS, SAYS]))
    gateway = Gateway(upstream, accounts, patience=Patience(patience), threads=1)
    with serving(gateway) as where:
        return [
            httpx2.post(
                f"{where.url}/v1/messages", json=ASKED, headers={"x-api-key": TOKEN}
            ).status_code
            for _ in range(2)
        ]


def test_it_is_tried_until_the_database_is_back_and_the_next_request_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(app, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(app, "_HELD_BACK", 0.0)
    accounts = Failing([AWAY] * 5)
    assert ask_twice(accounts, patience=60.0) == [200, 200]
    assert accounts.events == ["begin", *["fail"] * 5, "end", "begin", "end"]
    assert len({record.seconds for record in accounts.records[:6]}) == 1, "it is the same end"


@pytest.mark.parametrize(
    ("error", "patience"), [(AWAY, 0.0), (Defect("a bug", stage="database"), 60.0)]
)
def test_what_cannot_be_recorded_holds_nobody_up_for_longer(
    error: ReplanError, patience: float
) -> None:
    accounts = Failing([error])
    assert ask_twice(accounts, patience) == [200, 200]
    assert accounts.events == ["begin", "fail", "begin", "end"]
