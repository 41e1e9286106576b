"""What a person may do with tokens: create, rotate and revoke them."""

from dataclasses import dataclass
from datetime import datetime

from orchestrator.access import tokens
from orchestrator.access.roles import parse_role
from orchestrator.access.tokens import DAYS, Issued, Token
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.verbs import act


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token; its text is shown only once, and only its hash is stored."""

    name: str
    role: str
    expires_at: datetime
    token: str


@dataclass(frozen=True, slots=True)
class NamedToken:
    """A token by its name alone."""

    name: str


@act("token.create")
def create(caller: Caller, name: str, role: str, *, days: int = DAYS) -> Done[IssuedToken]:
    """Create a token with the rights of a role, valid for `days`. Raises Rejected."""
    wanted = parse_role(role)
    with caller.database.begin() as connection:
        issued = tokens.create(connection, caller.actor, name, wanted, days=days)
    return Done(_issued_token(issued))


@act("token.rotate")
def rotate(caller: Caller, name: str, *, days: int = DAYS) -> Done[IssuedToken]:
    """Replace a token with a new one of the same role. Raises Rejected when there is none."""
    with caller.database.begin() as connection:
        return Done(_issued_token(tokens.rotate(connection, caller.actor, name, days=days)))


@act("token.revoke")
def revoke(caller: Caller, name: str) -> Done[NamedToken]:
    """Revoke a token, so that its name is free again. Raises Rejected when there is none."""
    with caller.database.begin() as connection:
        tokens.revoke(connection, caller.actor, name)
    return Done(NamedToken(name))


@act("token.list")
def list_tokens(caller: Caller, *, every: bool = False) -> tuple[Token, ...]:
    """The tokens by name; with `every`, the revoked ones too."""
    with caller.database.begin() as connection:
        return tokens.list_tokens(connection, every=every)


def _issued_token(issued: Issued) -> IssuedToken:
    return IssuedToken(issued.name, issued.role.value, issued.expires_at, issued.bearer.text)
