"""What an error reply of the broker means."""

import pytest
from kombu.exceptions import OperationalError
from redis._parsers.base import BaseParser
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as NoAnswer

from shared.domain.errors import Misconfigured, ReplanError, Transient
from shared.domain.next_step import NextStep, ShellCommand, command_line
from shared.queue.replies import BY_CODE, BY_TEXT, ends_connection, translate

URL = "redis://:hush@broker.example:6390/0"
FOR_THE_OPERATOR = {
    "ASK", "CROSSSLOT", "DENIED", "MOVED", "NOAUTH", "NOPERM", "NOPROTO", "WRONGPASS",
}  # fmt: skip


def reply(text: str) -> RedisError:
    """What redis-py makes of an error reply."""
    made: RedisError = BaseParser.parse_error(text)  # type: ignore[no-untyped-call]
    return made


def wrapped(error: Exception) -> Exception:
    """As kombu raises it."""
    try:
        try:
            raise error
        except Exception as inner:
            raise OperationalError(str(inner)) from inner
    except OperationalError as outer:
        return outer


@pytest.mark.parametrize("wrap", [lambda error: error, wrapped], ids=["bare", "wrapped"])
@pytest.mark.parametrize("code", BY_CODE)
def test_each_code_has_its_family_and_plain_words(code: str, wrap: object) -> None:
    said = f"{code} 1 127.0.0.1:7"  # of a cluster's replies, the library reads the rest, too
    found = translate(wrap(reply(said)), URL)  # type: ignore[operator]
    family = Misconfigured if code in FOR_THE_OPERATOR else Transient
    assert type(found) is family
    assert BY_CODE[code].words in found.reason
    assert f"({said})" in found.reason
    assert "hush" not in found.reason + str(command_line(found.next_step))


def test_every_error_reply_that_the_library_knows_is_in_the_table() -> None:
    """A new one there is a new one here; `ERR` is told by its text, and scripts reload."""
    assert set(BaseParser.EXCEPTION_CLASSES) - {"ERR", "NOSCRIPT"} <= set(BY_CODE)


@pytest.mark.parametrize("text", BY_TEXT)
def test_a_general_error_is_told_by_its_text(text: str) -> None:
    found = translate(wrapped(reply(f"ERR well, {text} here")), URL)
    assert BY_TEXT[text].words in found.reason
    assert isinstance(found, Transient) is BY_TEXT[text].transient


def test_too_many_clients_are_no_broken_connection() -> None:
    found = translate(wrapped(reply("ERR max number of clients reached")), URL)
    assert isinstance(found, Transient)
    assert "it accepts no more clients" in found.reason


@pytest.mark.parametrize("text", ["NEWCODE what is it", "ERR unknown command", "no code", ""])
def test_an_unknown_reply_is_transient_in_the_servers_words(text: str) -> None:
    found = translate(wrapped(reply(text)), URL)
    assert type(found) is Transient
    assert found.reason.startswith("the broker cannot be used: ")
    assert text.removeprefix("ERR ") in found.reason


def test_a_reply_within_a_pipeline_is_found() -> None:
    """As redis-py words the reply to one of several commands, and what followed from it."""
    told = "Command # 1 (LPUSH q x) of pipeline caused error: NOREPLICAS Not enough good replicas"
    outer = reply(told)
    outer.__context__ = reply("EXECABORT Transaction discarded")
    found = translate(outer, URL)
    assert BY_CODE["NOREPLICAS"].words in found.reason
    assert found.reason.endswith("(NOREPLICAS Not enough good replicas)")


@pytest.mark.parametrize("error", [NoConnection("refused"), NoAnswer("late"), OSError("gone")])
def test_no_reply_means_that_the_broker_cannot_be_reached(error: Exception) -> None:
    found = translate(wrapped(error), URL)
    assert type(found) is Transient
    assert found.reason.startswith("the broker cannot be reached: ")


def test_the_next_step_asks_the_server_itself_or_leads_to_its_address() -> None:
    found: ReplanError = translate(reply("READONLY x"), URL)
    assert found.next_step == ShellCommand("redis-cli -h broker.example -p 6390 info replication")
    encrypted = translate(reply("OOM x"), "rediss://broker.example/0").next_step
    assert encrypted == ShellCommand("redis-cli -h broker.example -p 6379 --tls info memory")
    assert translate(reply("WRONGPASS x"), URL).next_step == NextStep.of(
        "config show", "broker_url"
    )


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("READONLY x", True),
        ("MASTERDOWN x", True),
        ("LOADING x", True),
        ("ERR unknown subcommand", False),
        ("NOPERM x", False),
        ("WRONGTYPE x", False),
        ("NOSCRIPT x", False),
    ],
)
def test_a_server_in_another_role_is_left_by_its_connections(text: str, *, ends: bool) -> None:
    assert ends_connection(reply(text)) is ends
