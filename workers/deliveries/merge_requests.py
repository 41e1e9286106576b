"""Requests to merge for the branches of sessions, where a forge is named."""

from collections.abc import Callable
from dataclasses import replace

from shared.domain.checkpoint import MergeRequest
from shared.store.database import Database
from workers.deliveries import checkpoint_rows as rows
from workers.deliveries.checkpoint_rows import BegunCheckpoint, Session
from workers.deliveries.forges.client import ForgeClient


class MergeRequests:
    """Has requests open.

    `reveal` returns the value of a secret, `mask` hides all of them in what is published.
    """

    def __init__(
        self, database: Database, reveal: Callable[[str], str], mask: Callable[[str], str]
    ) -> None:
        self._database = database
        self._reveal = reveal
        self._mask = mask

    def have_open(self, session: Session, begun: BegunCheckpoint) -> MergeRequest | None:
        """The request for the branch of a session; None where no forge is named.

        Raises what `ForgeClient` raises, and Misconfigured if no vault has the token.
        """
        forge = session.repository.forge
        if forge is None:
            return None
        with self._database.begin() as connection:
            text = rows.text_of_request(connection, session, begun)
        masked = replace(text, title=self._mask(text.title), part=self._mask(text.part))
        client = ForgeClient(session.repository, self._reveal(forge.token))
        return client.have_open(session.branch, masked)
