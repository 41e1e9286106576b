"""Planners learn about the targets from rows and from one look at each host."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from shared.domain.errors import Transient
from shared.domain.host import LOCALHOST, ConnectionKind, Host, SudoFound
from shared.guard import load_site
from shared.store import hosts
from shared.store.database import Database
from workers.roles.briefings import FACTS, MOST_LOOKED_AT, Briefings
from workers.roles.guards import Guards
from workers.shells.remote.connections import HostConnections
from workers.shells.snapshot import take

WEB1 = Host("web1", address="192.0.2.1", user="deploy", sudo=True, workdir="/srv/app")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """One host is enrolled."""
    made = Database(database_url, pooled=False)
    with made.begin() as connection:
        hosts.save(connection, WEB1)
    yield made
    made.close()


class Looks:
    """Looks that are remembered; `away` are hosts that cannot be reached."""

    def __init__(self, *away: str) -> None:
        self.at: list[str] = []
        self._away = away

    def __call__(self, host: Host) -> Mapping[str, str]:
        """The facts of the host, or Transient if it is away."""
        self.at.append(host.name)
        if host.name in self._away:
            raise Transient("no route to host", stage="connect")
        return {"os": f"{host.name} OS\nsecond line", "empty": ""}


def test_each_target_is_told_of_with_its_connection_and_looked_at_once(database: Database) -> None:
    looks = Looks("web1")
    briefings = Briefings(database, looks, lambda _: load_site(None).for_host())
    told = briefings.of(["web1", "localhost", "new1"], task_id=1)
    assert [line.partition(". No other")[0] for line in told.targets] == [
        "web1: over SSH, account deploy; commands run as root, through sudo; "
        "commands start in /srv/app",
        "localhost: the executor's own machine, the account of the executor",
        "new1: not enrolled yet",
    ]
    assert told.facts == (
        "[web1]\nthe host could not be looked at: no route to host\n\n"
        "[localhost]\nos: localhost OS\n    second line"
    )
    assert briefings.of(["localhost", "web1"], task_id=1).facts.startswith("[localhost]")
    assert briefings.of(["web1"], task_id=1, look=False).facts == ""
    assert looks.at == ["web1", "localhost"]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (SudoFound.ROOT, "account deploy; it is root. "),
        (SudoFound.YES, "account deploy; `sudo -n` works. "),
        (SudoFound.NO, "so that nothing can run as root. "),
        (SudoFound.ABSENT, "there is no sudo, so that nothing can run as root. "),
        (None, "account deploy. "),
    ],
)
def test_a_planner_learns_what_the_last_check_has_found_of_sudo(
    database: Database, found: SudoFound | None, told: str
) -> None:
    """A plan that needs root is not made for a host that cannot give it."""
    with database.begin() as connection:
        hosts.save(connection, Host("db1", user="deploy", host_key="ssh-ed25519 AAAA"))
        hosts.keep_sudo(connection, "db1", found)
    briefings = Briefings(database, Looks(), lambda _: load_site(None).for_host())
    (line,) = briefings.of(["db1"], task_id=1).targets
    assert told in line


def test_of_many_targets_a_few_are_looked_at_and_a_distrusted_one_never(
    database: Database,
) -> None:
    names = [f"h{number}" for number in range(20)]
    with database.begin() as connection:
        for name in names:
            bad = "its key has changed" if name == "h0" else None
            hosts.save(connection, Host(name, connection=ConnectionKind.LOCAL, distrusted=bad))
    looks = Looks()
    told = Briefings(database, looks, lambda _: load_site(None).for_host()).of(names, task_id=1)
    assert looks.at == names[1 : MOST_LOOKED_AT + 1]
    assert len(told.targets) == 20


def test_where_hosts_have_policies_of_their_own_each_is_told(
    database: Database, tmp_path: Path
) -> None:
    site = tmp_path / "policy.yaml"
    site.write_text(
        "hosts:\n  web1:\n    forbid:\n      - reason: the archive\n        rules: [mytool]\n"
    )
    policies = load_site(site)
    briefings = Briefings(database, Looks(), policies.for_host)
    both = briefings.of(["web1", "localhost"], task_id=1).rules
    first, _, second = both.partition("\n\nOn localhost:\n")
    assert first.startswith("On web1:\n")
    assert "`mytool`" in first
    assert "`mytool`" not in second
    assert briefings.of(["localhost"], task_id=1).rules == second


def test_a_real_host_says_what_it_is_in_one_round_trip_that_the_guard_allows() -> None:
    connections = HostConnections(lambda name: name)
    try:
        shell = connections.shell(LOCALHOST)
        found = take(shell, Guards()((), "localhost"), probes=dict(FACTS))
        shell.close()
    finally:
        connections.close()
    assert found.keys() == FACTS.keys()
    assert "Linux" in found["os"]
    assert "uid=" in found["identity"]
    assert "/" in found["programs"]
    assert "MemTotal" in found["memory"]
