"""Tokens in rows: create, list, rotate and revoke them. Every change is in the audit."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.access import audit
from orchestrator.access.actor import Actor
from orchestrator.access.audit import Act
from orchestrator.access.bearer import Bearer, mint_bearer
from orchestrator.access.roles import AccessRole
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep

NAME_SHAPE = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
DAYS = 90
"""The default validity of a token, in days."""
MOST_DAYS = 730

_INSERT = text("""
    INSERT INTO tokens (id, name, role, hash, created_by, expires_at)
    VALUES (:id, :name, :role, :hash, :created_by,
            clock_timestamp() + make_interval(days => :days))
    ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING
    RETURNING expires_at
""")
_REVOKE = text("""
    UPDATE tokens SET revoked_at = clock_timestamp()
    WHERE name = :name AND revoked_at IS NULL
    RETURNING id, role
""")
_LIST = text("""
    SELECT id, name, role, created_at, created_by, expires_at, revoked_at, last_used_at,
        CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
             WHEN expires_at <= clock_timestamp() THEN 'expired' ELSE 'good' END AS state
    FROM tokens WHERE :every OR revoked_at IS NULL
    ORDER BY name, created_at
""")
_NAMES = text("SELECT name FROM tokens WHERE revoked_at IS NULL ORDER BY name")


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its text; `state` is good, expired or revoked."""

    id: str
    name: str
    role: str
    state: str
    created_at: datetime
    created_by: str
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token with its text, which is available only once."""

    bearer: Bearer
    name: str
    role: AccessRole
    expires_at: datetime


def create(
    connection: Connection, actor: Actor, name: str, role: AccessRole, *, days: int = DAYS
) -> Issued:
    """Create a token for a role, valid for `days`.

    Raises Rejected when the name is not valid or is taken, or `days` is not 1 to `MOST_DAYS`.
    """
    _check(name, days)
    issued = _insert(connection, actor, name, role, days)
    if issued is None:
        raise Rejected(
            f"there is already a token called {name!r}",
            stage="input",
            next_step=NextStep.of("token rotate", name),
        )
    told = {"id": issued.bearer.id, "role": role.value, "days": days}
    audit.record(connection, actor, Act("token.create", name, told))
    return issued


def rotate(connection: Connection, actor: Actor, name: str, *, days: int = DAYS) -> Issued:
    """Replace the token of that name, which stops working at the commit.

    Raises Rejected when there is none, or `days` is not 1 to `MOST_DAYS`.
    """
    _check(name, days)
    old = _revoke_row(connection, name)
    issued = _insert(connection, actor, name, AccessRole(old.role), days)
    if issued is None:  # Two at once: the row of the other one was not there yet to be revoked.
        raise Rejected(
            f"somebody else has just replaced the token {name!r}",
            stage="input",
            next_step=NextStep.of("token list"),
        )
    told = {"id": issued.bearer.id, "instead_of": old.id, "role": old.role, "days": days}
    audit.record(connection, actor, Act("token.rotate", name, told))
    return issued


def revoke(connection: Connection, actor: Actor, name: str) -> None:
    """Revoke the token of that name from the commit on. Raises Rejected when there is none."""
    old = _revoke_row(connection, name)
    audit.record(connection, actor, Act("token.revoke", name, {"id": old.id, "role": old.role}))


def list_tokens(connection: Connection, *, every: bool = False) -> tuple[Token, ...]:
    """The tokens by name; with `every`, the revoked ones too."""
    found = connection.execute(_LIST, {"every": every}).mappings()
    return tuple(Token(**row) for row in found)


def _insert(
    connection: Connection, actor: Actor, name: str, role: AccessRole, days: int
) -> Issued | None:
    bearer = mint_bearer()
    values = {
        "id": bearer.id,
        "name": name,
        "role": role.value,
        "hash": bearer.hash,
        "created_by": actor.name,
        "days": days,
    }
    expires_at = connection.execute(_INSERT, values).scalar()
    return None if expires_at is None else Issued(bearer, name, role, expires_at)


def _revoke_row(connection: Connection, name: str) -> Any:
    row = connection.execute(_REVOKE, {"name": name}).one_or_none()
    if row is not None:
        return row
    known = ", ".join(connection.execute(_NAMES).scalars()) or "none"
    raise Rejected(
        f"there is no token called {name!r}; there are: {known}",
        stage="input",
        next_step=NextStep.of("token list"),
    )


def _check(name: str, days: int) -> None:
    if not re.fullmatch(NAME_SHAPE, name):
        raise Rejected(
            f"{name!r} is not a valid token name: use up to 64 letters, digits, '.', '_' and '-'",
            stage="input",
            next_step=NextStep.of("token create", "ci", role="operator"),
        )
    if not 1 <= days <= MOST_DAYS:
        raise Rejected(
            f"a token is valid for 1 to {MOST_DAYS} days, not {days}",
            stage="input",
            next_step=NextStep.of("token create", name, role="viewer", days=DAYS),
        )
