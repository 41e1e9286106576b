"""Who may ask a model, and the account of what was asked: a port, and the one without a ledger."""

from collections.abc import Sequence
from typing import Protocol

from shared.store.model_calls import CallUnderWay
from workers.attempt_token import AttemptGrant
from workers.gateway.upstream import ModelRequest
from workers.llm.calls import CallRecord


class Accounts(Protocol):
    """Knows the attempts and records their calls. Its functions block; they run in threads.

    They raise Transient while the database is unavailable, unless they say otherwise.
    """

    def admit(self, token: str) -> AttemptGrant:
        """The attempt of a token; raises Refusal unless it is a valid one. Never blocks."""
        ...

    def require_open(self, grant: AttemptGrant) -> None:
        """Raise Refusal unless the attempt is open."""
        ...

    def begin(self, grant: AttemptGrant, request: ModelRequest) -> int:
        """Record a call that is about to be made; returns its number.

        Raises Refusal unless the attempt is open, and where a cap is reached.
        """
        ...

    def note(self, calls: Sequence[CallUnderWay]) -> None:
        """Record how far calls are that have not ended."""
        ...

    def end(
        self, number: int, grant: AttemptGrant, request: ModelRequest, record: CallRecord
    ) -> None:
        """Record how it ended, and what was asked. What failed can be repeated as it was."""
        ...


class NoAccounts:
    """Admits everybody and records nothing: for scripts and recordings, which cost nothing."""

    def admit(self, token: str) -> AttemptGrant:
        """See `Accounts`."""
        return AttemptGrant(token)

    def require_open(self, grant: AttemptGrant) -> None:
        """See `Accounts`."""

    def begin(self, grant: AttemptGrant, request: ModelRequest) -> int:  # noqa: ARG002 - see there
        """See `Accounts`."""
        return 0

    def note(self, calls: Sequence[CallUnderWay]) -> None:
        """See `Accounts`."""

    def end(
        self, number: int, grant: AttemptGrant, request: ModelRequest, record: CallRecord
    ) -> None:
        """See `Accounts`."""
