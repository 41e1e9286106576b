"""Which role may do what: one table, and the command line has no verb beside it."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.access.roles import ON_THE_MACHINE, VERBS, AccessRole, parse_role, require
from orchestrator.cli.main import build
from shared.domain.errors import Misconfigured, Rejected

VIEWER, OPERATOR, APPROVER, ADMIN = AccessRole


def kinds(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every verb below this command, as `object.verb`."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield ".".join(path)
        return
    for name, each in inner.items():
        yield from kinds(each, (*path, name))


def test_every_verb_of_the_command_line_stands_in_the_table_and_no_other() -> None:
    assert set(kinds(typer.main.get_command(build()))) == VERBS.keys() | ON_THE_MACHINE
    assert not VERBS.keys() & ON_THE_MACHINE


def test_a_viewer_changes_nothing() -> None:
    assert [verb for verb, its in VERBS.items() if its.changes and its.role is VIEWER] == []


@pytest.mark.parametrize(
    ("verb", "least"),
    [
        ("task.show", VIEWER),
        ("task.submit", OPERATOR),
        ("intervention.answer", OPERATOR),
        ("host.add", ADMIN),
        ("token.create", ADMIN),
        ("token.list", ADMIN),
        ("audit.list", ADMIN),
    ],
)
def test_a_verb_takes_its_role_or_a_greater_one(verb: str, least: AccessRole) -> None:
    order = [VIEWER, OPERATOR, APPROVER, ADMIN]
    for role in order:
        if order.index(role) >= order.index(least):
            require(role, verb)
        else:
            with pytest.raises(Rejected, match=f"takes the role {least.value}") as caught:
                require(role, verb)
            assert caught.value.next_step


@pytest.mark.parametrize("verb", [*sorted(ON_THE_MACHINE), "task.destroy", ""])
def test_what_stands_in_no_table_nobody_may(verb: str) -> None:
    with pytest.raises(Misconfigured):
        require(ADMIN, verb)


@given(st.text())
def test_only_roles_are_roles(text: str) -> None:
    if text in set(AccessRole):
        assert parse_role(text).value == text
    else:
        with pytest.raises(Rejected, match="is not a valid role"):
            parse_role(text)
