"""Who may ask a model, and the account of what was asked: a port, and the one without a ledger."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from workers.gateway.upstream import ModelRequest
from workers.llm.calls import CallRecord


@dataclass(frozen=True, slots=True)
class Payer:
    """The attempt for which a model is asked.

    `budget` is what its models may cost, in dollars; 0: no cap of its own.
    """

    attempt: str
    task_id: int = 0
    run_id: int = 0
    step: int = 0
    revision: int = 0
    budget: Decimal = Decimal(0)


class Accounts(Protocol):
    """Knows the attempts and records their calls. Its functions block; they run in threads."""

    def admit(self, token: str) -> Payer:
        """The attempt of a token; raises Refusal unless it is one that is open."""
        ...

    def begin(self, payer: Payer, request: ModelRequest) -> int:
        """Record a call that is about to be made; returns its number.

        Raises Refusal where a cap is reached, or the call cannot be recorded.
        """
        ...

    def end(self, number: int, record: CallRecord) -> None:
        """Record how it ended. Never raises."""
        ...


class NoAccounts:
    """Admits everybody and records nothing: for scripts and recordings, which cost nothing."""

    def admit(self, token: str) -> Payer:
        """See `Accounts`."""
        return Payer(token)

    def begin(self, payer: Payer, request: ModelRequest) -> int:  # noqa: ARG002 - see there
        """See `Accounts`."""
        return 0

    def end(self, number: int, record: CallRecord) -> None:
        """See `Accounts`."""
