"""Whatever error the broker replies to whatever command, workers live and the work goes on."""

from collections.abc import Iterator
from functools import partial

import pytest
import redis

from shared.queue.replies import BY_CODE, BY_TEXT
from tests.journeys.plans import plan, step
from tests.services.databases import execute, of_database
from tests.services.refusing_broker import EVERY, RefusingBroker
from tests.services.ring import Ring, eventually

REPLIES = [
    *(f"{code} 1 127.0.0.1:7" for code in BY_CODE),
    *(f"ERR {text}" for text in BY_TEXT),
    "ERR unknown command",
    "NEWCODE that nobody knows",
    "lower case and no code",
    "",
]
COMMANDS = ("BRPOP", "LPUSH", "PUBLISH", "PSUBSCRIBE", "PING", "HELLO", "CLIENT", "SELECT", "SADD")
BACK_WITHIN = 10.0


@pytest.fixture(scope="module")
def broker(valkey_url: str) -> Iterator[RefusingBroker]:
    with redis.Redis.from_url(valkey_url) as client:
        client.flushall()
    with RefusingBroker(valkey_url) as opened:
        yield opened


@pytest.fixture(scope="module")
def ring(
    broker: RefusingBroker,
    postgres_url: str,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ring]:
    """A ring that many tests share: the processes of the first serve the last, too."""
    execute(postgres_url, "CREATE DATABASE test_refusing TEMPLATE {}", migrated_template)
    made = Ring(
        of_database(postgres_url, "test_refusing"), broker.url, tmp_path_factory.mktemp("ring")
    )
    made.extra.update(REPLAN_POLL="0.5")
    made.coordinator()
    made.worker("executor")
    listens(broker)
    yield made
    made.stop()
    execute(postgres_url, "DROP DATABASE IF EXISTS test_refusing WITH (FORCE)")


@pytest.fixture
def works(ring: Ring, broker: RefusingBroker) -> Iterator[Ring]:
    """The ring; afterwards, the same processes must still run and listen."""
    before = dict(ring.processes)
    yield ring
    broker.accept()
    assert ring.processes == before
    for name, process in ring.processes.items():
        assert process.poll() is None, ring.log(name)
    assert "Unrecoverable" not in ring.log("executor")


def listens(broker: RefusingBroker) -> None:
    """Wait until the worker asks for messages and gets its answers."""
    broker.seen.clear()
    eventually(lambda: {"BRPOP"} <= broker.seen, "the worker listening again", BACK_WITHIN)


@pytest.mark.parametrize("reply", REPLIES)
def test_work_goes_on_whatever_the_broker_replies(
    works: Ring, broker: RefusingBroker, reply: str
) -> None:
    broker.refuse(reply, EVERY)
    works.ends(works.submit(plan(step(["true"])), "localhost"))
    eventually(partial(refuses_more, broker, broker.refusals), "the worker trying again")
    broker.accept()
    listens(broker)


def refuses_more(broker: RefusingBroker, than: int) -> bool:
    return broker.refusals > than


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("reply", ["READONLY a replica", "NOPERM no rights", "NEWCODE unknown"])
def test_work_goes_on_whatever_command_is_refused(
    works: Ring, broker: RefusingBroker, command: str, reply: str
) -> None:
    broker.refuse(reply, command)
    works.ends(works.submit(plan(step(["true"])), "localhost"))
    broker.accept()
    listens(broker)
