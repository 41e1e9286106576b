"""Tokens on a real Postgres: what opens, what does not, and what is kept of them."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.access import audit, tokens
from orchestrator.access.actor import Actor
from orchestrator.access.authentication import Unauthenticated, Why, authenticate
from orchestrator.access.bearer import mint_bearer
from orchestrator.access.roles import AccessRole
from orchestrator.access.tokens import Issued
from shared.domain.errors import Rejected
from shared.domain.next_step import command_line
from shared.store.database import Database


def made(
    database: Database, actor: Actor, name: str = "ci", role: AccessRole = AccessRole.OPERATOR
) -> Issued:
    with database.begin() as connection:
        return tokens.create(connection, actor, name, role)


def opened(database: Database, presented: str) -> Actor:
    with database.begin() as connection:
        return authenticate(connection, presented)


def scalar(database: Database, query: str) -> Any:
    with database.begin() as connection:
        return connection.execute(text(query)).scalar_one()


def refusal(database: Database, presented: str) -> Unauthenticated:
    with pytest.raises(Unauthenticated) as caught:
        opened(database, presented)
    return caught.value


@pytest.mark.parametrize("role", list(AccessRole))
def test_a_token_says_who_acts(database: Database, ann: Actor, role: AccessRole) -> None:
    issued = made(database, ann, role=role)
    assert opened(database, issued.bearer.text) == Actor("token:ci", role)


def test_nothing_that_opens_is_kept(database: Database, ann: Actor) -> None:
    issued = made(database, ann)
    secret = issued.bearer.text.split("_", 2)[2]
    assert len(secret) == 43
    kept = scalar(
        database,
        "SELECT (SELECT string_agg(tokens::text, '') FROM tokens) "
        "|| (SELECT string_agg(audit::text, '') FROM audit)",
    )
    assert secret not in kept
    assert issued.bearer.text not in repr(issued)


def test_what_does_not_open_is_refused_in_the_same_words(database: Database, ann: Actor) -> None:
    """Only this side learns which of them it was."""
    good = made(database, ann, "good").bearer
    old = made(database, ann, "old").bearer
    gone = made(database, ann, "gone").bearer
    with database.begin() as connection:
        connection.execute(
            text("UPDATE tokens SET expires_at = clock_timestamp() WHERE name = 'old'")
        )
        tokens.revoke(connection, ann, "gone")
    wrong = good.text[:-1] + ("A" if good.text[-1] != "A" else "B")
    refusals = {
        Why.SHAPE: refusal(database, "hunter2"),
        Why.UNKNOWN: refusal(database, mint_bearer().text),
        Why.SECRET: refusal(database, wrong),
        Why.EXPIRED: refusal(database, old.text),
        Why.REVOKED: refusal(database, gone.text),
    }
    assert {why: refused.why for why, refused in refusals.items()} == {why: why for why in Why}
    told = {(str(r), r.reason, r.stage, command_line(r.next_step)) for r in refusals.values()}
    assert len(told) == 1
    assert opened(database, good.text).name == "token:good"


@pytest.mark.parametrize("presented", ["", "replan_", "replan_x_y", "é" * 63, "\0", "x" * 100_000])
def test_any_text_may_be_presented(database: Database, presented: str) -> None:
    assert refusal(database, presented).why is Why.SHAPE


def test_its_end_is_a_moment_of_the_database(database: Database, ann: Actor) -> None:
    with database.begin() as connection:
        issued = tokens.create(connection, ann, "ci", AccessRole.VIEWER, days=3)
    left = issued.expires_at - scalar(database, "SELECT clock_timestamp()")
    assert timedelta(days=2, hours=23) < left <= timedelta(days=3)


def test_its_last_use_is_noted_now_and_then(database: Database, ann: Actor) -> None:
    """Not with every request: a row written each time would cost more than the request."""
    last = "SELECT last_used_at FROM tokens"
    issued = made(database, ann)
    assert scalar(database, last) is None
    opened(database, issued.bearer.text)
    first = scalar(database, last)
    opened(database, issued.bearer.text)
    assert scalar(database, last) == first is not None
    with database.begin() as connection:
        connection.execute(
            text("UPDATE tokens SET last_used_at = last_used_at - interval '11 minutes'")
        )
    opened(database, issued.bearer.text)
    assert scalar(database, last) > first


def test_a_new_one_in_its_place_ends_the_old_one(database: Database, ann: Actor) -> None:
    old = made(database, ann, role=AccessRole.APPROVER)
    with database.begin() as connection:
        new = tokens.rotate(connection, ann, "ci")
    assert refusal(database, old.bearer.text).why is Why.REVOKED
    assert opened(database, new.bearer.text) == Actor("token:ci", AccessRole.APPROVER)
    with database.begin() as connection:
        assert [t.state for t in tokens.list_tokens(connection)] == ["good"]
        assert {t.state for t in tokens.list_tokens(connection, every=True)} == {"good", "revoked"}


def test_of_many_who_replace_it_at_once_the_last_has_the_only_good_one(
    database: Database, ann: Actor
) -> None:
    made(database, ann)

    def rotate(_: int) -> str | None:
        try:
            with database.begin() as connection:
                return tokens.rotate(connection, ann, "ci").bearer.text
        except Rejected:
            return None

    with ThreadPoolExecutor(6) as pool:
        texts = [each for each in pool.map(rotate, range(12)) if each]
    good = 0
    for each in texts:
        try:
            opened(database, each)
        except Unauthenticated:
            continue
        good += 1
    assert texts
    assert good == 1
    assert audit.verify(database)[1] == []


def test_names_and_spans_that_cannot_be(database: Database, ann: Actor) -> None:
    made(database, ann)
    with database.begin() as connection:
        for name, days in (("", 1), ("a b", 1), ("x" * 65, 1), ("a", 0), ("a", 731), ("ci", 1)):
            with pytest.raises(Rejected) as caught:
                tokens.create(connection, ann, name, AccessRole.VIEWER, days=days)
            assert caught.value.next_step
        with pytest.raises(Rejected, match="there are: ci"):
            tokens.revoke(connection, ann, "nobody")
        with pytest.raises(Rejected):
            tokens.rotate(connection, ann, "nobody")


def test_every_change_is_in_the_audit(database: Database, ann: Actor) -> None:
    issued = made(database, ann)
    with database.begin() as connection:
        tokens.rotate(connection, ann, "ci")
        tokens.revoke(connection, ann, "ci")
        entries = audit.newest(connection, limit=9, ref="ci")
    assert [e.verb for e in entries] == ["token.revoke", "token.rotate", "token.create"]
    assert json.loads(entries[1].details)["instead_of"] == issued.bearer.id
