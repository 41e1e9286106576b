"""A real broker that takes another role or refuses: named in plain words, and the work goes on."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

from orchestrator.embedded import port
from shared.domain.errors import Misconfigured, ReplanError, Transient
from shared.queue.app import CeleryBell, make_app, require_writable
from tests.journeys.plans import plan, step
from tests.journeys.test_servers_away import said
from tests.services.databases import execute, of_database
from tests.services.own_broker import PASSWORD, OwnBroker, own_broker
from tests.services.refusing_broker import RefusingBroker
from tests.services.ring import Ring, eventually

Act = Callable[[OwnBroker, redis.Redis], None]


@dataclass(frozen=True)
class Fault:
    """How a server is made to refuse, and to serve again; `words` are what replan says of it."""

    words: str
    begin: Act
    end: Act
    family: type[ReplanError] = Transient


def configure(**settings: str | int) -> Act:
    """Set settings of the server, and end the connections of its clients."""

    def act(_: OwnBroker, client: redis.Redis) -> None:
        for name, value in settings.items():
            client.config_set(name.replace("_", "-"), value)
        drop_others(client)

    return act


def send(client: redis.Redis, *words: object) -> object:
    """A command for which the library has no method."""
    return client.execute_command(*words)  # type: ignore[no-untyped-call]


def drop_others(client: redis.Redis) -> None:
    client.client_kill_filter(skipme=True, _type="normal")


def follow_nobody(_: OwnBroker, client: redis.Redis) -> None:
    """It becomes the replica of an address at which there is no server."""
    send(client, "REPLICAOF", port.LOOPBACK, port.any_free())


def follow_nobody_and_say_so(own: OwnBroker, client: redis.Redis) -> None:
    client.config_set("replica-serve-stale-data", "no")
    follow_nobody(own, client)


def lead(_: OwnBroker, client: redis.Redis) -> None:
    send(client, "REPLICAOF", "NO", "ONE")
    client.config_set("replica-serve-stale-data", "yes")


def load_for_long(own: OwnBroker, client: redis.Redis) -> None:
    """It starts again with a dump that takes it some seconds."""
    send(client, "DEBUG", "POPULATE", 20_000)
    client.save()
    own.restart_slowly()


def loaded(_: OwnBroker, client: redis.Redis) -> None:
    eventually(lambda: answers(client), "the dump being loaded")
    client.flushall()
    client.save()


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except (redis.ConnectionError, redis.ResponseError):
        return False


def spin(own: OwnBroker, client: redis.Redis) -> None:
    """A script blocks it for ever."""
    client.config_set("busy-reply-threshold", 100)

    def run() -> None:
        with own.client() as another, suppress(redis.RedisError):
            another.eval("while true do end", 0)

    threading.Thread(target=run, daemon=True).start()
    eventually(lambda: refuses(client, "BUSY"), "the script")


def refuses(client: redis.Redis, code: str) -> bool:
    try:
        send(client, "LLEN", "x")
    except redis.ResponseError as error:
        return str(error).startswith(code)
    return False


def stop_script(_: OwnBroker, client: redis.Redis) -> None:
    """The server says yes first, and ends the script at its next look."""
    client.script_kill()
    eventually(lambda: not refuses(client, "BUSY"), "the end of the script")


def fail_to_save(own: OwnBroker, client: redis.Redis) -> None:
    """Its folder has gone."""
    client.config_set("save", "86400 1000000")  # it saves by itself, but not now
    own.folder.joinpath("deeper").mkdir(exist_ok=True)
    client.config_set("dir", str(own.folder / "deeper"))
    own.folder.joinpath("deeper").rmdir()
    client.bgsave()
    eventually(lambda: saving_failed(client), "the failure")


def saving_failed(client: redis.Redis) -> bool:
    state: Any = client.info("persistence")
    return bool(state["rdb_last_bgsave_status"] == "err")


def save_again(own: OwnBroker, client: redis.Redis) -> None:
    client.config_set("dir", str(own.folder))
    client.config_set("save", "")
    client.save()


def forbid(_: OwnBroker, client: redis.Redis) -> None:
    send(client, "ACL", "SETUSER", "default", "-lpush", "-brpop")
    drop_others(client)


def allow(_: OwnBroker, client: redis.Redis) -> None:
    send(client, "ACL", "SETUSER", "default", "+@all")


FAULTS = {
    "READONLY": Fault("it has become a read-only replica", follow_nobody, lead),
    "MASTERDOWN": Fault(
        "it is a replica that has lost its primary", follow_nobody_and_say_so, lead
    ),
    "LOADING": Fault("it has started and is still loading", load_for_long, loaded),
    "BUSY": Fault("a script blocks it", spin, stop_script),
    "OOM": Fault(
        "its memory is full",
        configure(maxmemory=1, maxmemory_policy="noeviction"),
        configure(maxmemory=0),
    ),
    "MISCONF": Fault("it cannot save to its disk", fail_to_save, save_again),
    "NOREPLICAS": Fault(
        "too few replicas follow it",
        configure(min_replicas_to_write=1),
        configure(min_replicas_to_write=0),
    ),
    "too many clients": Fault(
        "it accepts no more clients", configure(maxclients=1), configure(maxclients=1000)
    ),
    "WRONGPASS": Fault(
        "it refuses the user or the password of broker_url",
        configure(requirepass="another"),
        configure(requirepass=PASSWORD),
        Misconfigured,
    ),
    "NOPERM": Fault("its ACL forbids the user", forbid, allow, Misconfigured),
}


@pytest.fixture(scope="module")
def own() -> Iterator[OwnBroker]:
    with own_broker() as made:
        yield made


@pytest.fixture(scope="module")
def ring(
    own: OwnBroker,
    postgres_url: str,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ring]:
    """A ring that many tests share: the processes of the first serve the last, too."""
    execute(postgres_url, "CREATE DATABASE test_roles TEMPLATE {}", migrated_template)
    made = Ring(of_database(postgres_url, "test_roles"), own.url, tmp_path_factory.mktemp("ring"))
    made.extra.update(REPLAN_POLL="2")  # so that the bell is rung before the job is found
    made.coordinator()
    made.worker("executor")
    with own.client() as client:
        eventually(partial(listening, client), "the worker listening")
    yield made
    made.stop()
    execute(postgres_url, "DROP DATABASE IF EXISTS test_roles WITH (FORCE)")


def complaints(ring: Ring) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the worker and the coordinator have said of the broker."""
    return said(ring, "executor", "broker_unusable"), said(ring, "coordinator", "loop_waits")


def listening(client: redis.Redis) -> bool:
    return any(entry["cmd"] == "brpop" for entry in client.client_list())


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_broker_in_another_role_is_named_and_the_work_goes_on(
    own: OwnBroker, ring: Ring, fault: Fault
) -> None:
    before = dict(ring.processes)
    eventually(partial(well, ring), "all being well again after the last test")
    told = [len(entries) for entries in complaints(ring)]
    with own.client() as client:
        client.ping()
        try:
            fault.begin(own, client)
            with pytest.raises(fault.family) as raised:
                require_writable(own.url)
            assert fault.words in raised.value.reason
            assert PASSWORD not in raised.value.reason
            ring.ends(ring.submit(plan(step(["true", "true"])), "localhost"))
            eventually(partial(named, ring, told, fault.words), f"somebody saying {fault.words}")
        finally:
            fault.end(own, client)
        eventually(partial(listening, client), "the worker listening again", 15)
    assert ring.processes == before
    for name, process in ring.processes.items():
        assert process.poll() is None, ring.log(name)
    assert all(len(entries) <= 4 for entries in newer(ring, told)), "each state is logged once"


def newer(ring: Ring, told: list[int]) -> list[list[dict[str, Any]]]:
    """What each has said since it had said so much."""
    return [entries[older:] for entries, older in zip(complaints(ring), told, strict=True)]


def named(ring: Ring, told: list[int], words: str) -> bool:
    return any(words in entry["reason"] for entries in newer(ring, told) for entry in entries)


def well(ring: Ring) -> bool:
    """Whether both have said that what they complained of is over."""
    ends = said(ring, "executor", "broker_usable"), said(ring, "coordinator", "loop_goes_on")
    return all(
        len(begun) == 0 or (over and over[-1]["timestamp"] > begun[-1]["timestamp"])
        for begun, over in zip(complaints(ring), ends, strict=True)
    )


def test_what_works_keeps_its_connection(own: OwnBroker, ring: Ring) -> None:
    """Neither a worker nor a bell connects again for a reply that says nothing of its server."""
    app = make_app(own.url)
    bell = CeleryBell(app)
    with own.client() as client:
        eventually(partial(listening, client), "the worker listening")
        bell.ring("planning", [1])
        before = connections(client)
        for _ in range(50):
            bell.ring("planning", [1])
        assert ring.processes["executor"].poll() is None
        assert connections(client) - before <= 2
    app.close()


def connections(client: redis.Redis) -> int:
    """How many there have been so far."""
    state: Any = client.info("stats")
    return int(state["total_connections_received"])


def test_an_address_that_leads_to_another_server_is_followed(
    own: OwnBroker, database_url: str, tmp_path: Path
) -> None:
    """As when a name is given to the new primary: the old one lives on as a replica."""
    with own_broker() as old, RefusingBroker(old.url) as address, old.client() as client:
        ring = Ring(database_url, address.url, tmp_path)
        ring.extra.update(REPLAN_POLL="300", REPLAN_LIVENESS="600")
        ring.coordinator()
        ring.worker("executor")
        eventually(partial(listening, client), "the worker listening")
        ring.ends(ring.submit(plan(step(["true"])), "localhost"))
        address.point_to(own.url)
        send(client, "REPLICAOF", port.LOOPBACK, own.port)
        with own.client() as new:
            eventually(partial(listening, new), "the worker listening at the new one", 15)
        begun = time.monotonic()
        ring.ends(ring.submit(plan(step(["true"])), "localhost"), patience=20)
        print(f"done {time.monotonic() - begun:.1f} s after it was submitted")
        assert all(process.poll() is None for process in ring.processes.values())
        ring.stop()
