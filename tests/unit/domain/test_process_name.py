"""The names under which the database lists the sessions of processes."""

from itertools import combinations

import pytest

from shared.domain.jobs import ROLES, QueueName
from shared.domain.process_name import (
    ALL,
    COORDINATOR,
    LONGEST,
    ProcessName,
    parse_owner,
    parse_process_name,
)

SOME = [roles for n in range(1, len(ROLES)) for roles in combinations(ROLES, n)]


@pytest.mark.parametrize("roles", [(ALL,), (COORDINATOR,), *SOME], ids="-".join)
@pytest.mark.parametrize("host", ["web-1", "a-long-host-name." * 4, ""])
def test_a_name_says_the_roles_however_long_the_host_is(roles: tuple[str, ...], host: str) -> None:
    name = ProcessName("0.1.0", roles, 4_194_304, host)
    assert len(name.session) <= LONGEST
    read = parse_process_name(name.session)
    assert read is not None
    assert (read.version, read.roles, read.pid) == ("0.1.0", roles, 4_194_304)
    assert host.startswith(read.host)
    assert read.queues == name.queues


def test_a_name_is_short_and_plain() -> None:
    name = ProcessName("0.1.0", ("executor",), 4711, "web-1")
    assert name.session == "replan 0.1.0 executor 4711@web-1"
    assert (str(name), name.owner) == ("4711@web-1", "executor.4711@web-1")
    assert name.queues == {QueueName.EXECUTION}


@pytest.mark.parametrize(
    "session", ["", "replan", "psql", "replan 1 juggler 1@h", "replan 1 all-but-cook 1@h"]
)
def test_the_name_of_another_session_says_nothing(session: str) -> None:
    assert parse_process_name(session) is None


def test_a_name_too_long_for_its_roles_says_nothing_rather_than_half_of_them() -> None:
    roles = ("taskmaster", "subtask_planner", "escalation")
    name = ProcessName("0.1.0+" + "g" * 30, roles, 1, "h")
    assert parse_process_name(name.session) is None


@pytest.mark.parametrize(
    ("owner", "roles"),
    [
        ("executor.7@web1", ("executor",)),
        ("planner-escalation.7@web1.example.org", ("planner", "escalation")),
        ("all.7@h", ("all",)),
        ("x", None),
        ("cook.7@h", None),
        ("executor.x@h", None),
    ],
)
def test_the_signature_of_a_claim_says_the_roles(owner: str, roles: tuple[str, ...] | None) -> None:
    read = parse_owner(owner)
    assert (None if read is None else read.roles) == roles
    assert read is None or read.owner == owner
