"""From the text of a token to who acts with it."""

import hmac
from enum import StrEnum

from sqlalchemy import Connection, text

from orchestrator.access.actor import Actor
from orchestrator.access.bearer import parse_bearer
from orchestrator.access.roles import AccessRole
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep

_FIND = text("""
    SELECT name, role, hash, revoked_at IS NOT NULL AS revoked,
        expires_at <= clock_timestamp() AS expired,
        last_used_at IS NULL OR last_used_at < clock_timestamp() - interval '10 minutes' AS unseen
    FROM tokens WHERE id = :id
""")
# A locked row is skipped: somebody else is noting the same.
_SEEN = text("""
    UPDATE tokens SET last_used_at = clock_timestamp()
    WHERE id IN (SELECT id FROM tokens WHERE id = :id FOR UPDATE SKIP LOCKED)
""")

_NOBODY = b"\0" * 32


class Why(StrEnum):
    """Why a token is refused; for the log of this side, never for the answer."""

    SHAPE = "it does not have the form of a token"
    UNKNOWN = "there is no such token"
    SECRET = "its secret is wrong"  # noqa: S105 - a sentence
    REVOKED = "it was revoked"
    EXPIRED = "it has expired"


class Unauthenticated(Rejected):
    """A token that is refused. The message is always the same; `why` is not for the outside."""

    def __init__(self, why: Why) -> None:
        super().__init__(
            "this token is not accepted: it is unknown, has expired or was revoked",
            stage="access",
            next_step=NextStep.of("token list"),
        )
        self.why = why


def authenticate(connection: Connection, presented: str) -> Actor:
    """The actor of a token, by the database's clock; raises Unauthenticated for any other text.

    Its last use is noted to ten minutes. The answer takes equally long whether or not the token
    exists, and the comparison of hashes leaks nothing about them.
    """
    bearer = parse_bearer(presented)
    if bearer is None:
        raise Unauthenticated(Why.SHAPE)
    row = connection.execute(_FIND, {"id": bearer.id}).one_or_none()
    same = hmac.compare_digest(bearer.hash, _NOBODY if row is None else bytes(row.hash))
    if row is None:
        raise Unauthenticated(Why.UNKNOWN)
    if not same:
        raise Unauthenticated(Why.SECRET)
    if row.revoked:
        raise Unauthenticated(Why.REVOKED)
    if row.expired:
        raise Unauthenticated(Why.EXPIRED)
    if row.unseen:
        connection.execute(_SEEN, {"id": bearer.id})
    return Actor(f"token:{row.name}", AccessRole(row.role))
