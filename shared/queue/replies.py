"""What the broker's error replies mean: transient or for the operator, in plain words.

The codes are those of Redis and Valkey: the first word of an error reply. What the table does not
list is transient, in the broker's own words.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from kombu.exceptions import KombuError
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as NoAnswer

from shared.domain.errors import Misconfigured, ReplanError, Transient
from shared.domain.next_step import Advice, NextStep, ShellCommand

FAILURES: Final = (KombuError, RedisError, OSError)
"""What the broker's libraries raise when it is away, or replies with an error."""

_URL: Final = "broker_url"


@dataclass(frozen=True, slots=True)
class Reply:
    """The meaning of an error reply.

    `transient`: it passes without a person. `ask` is what to ask the broker itself with redis-cli;
    None leads to the setting of its address. `elsewhere`: the server has another role, and the
    address may lead to one that has not.
    """

    words: str
    transient: bool = True
    ask: str | None = None
    elsewhere: bool = False


def _role(words: str, ask: str = "info replication") -> Reply:
    return Reply(words, ask=ask, elsewhere=True)


BY_CODE: Final = {
    "READONLY": _role("it has become a read-only replica"),
    "MASTERDOWN": _role("it is a replica that has lost its primary"),
    "UNBLOCKED": _role("it has just become a replica"),
    "REDIRECT": _role("it hands over to another server"),
    "INPROG": _role("a failover is in progress"),
    "NOREPLICAS": _role("it refuses writes: too few replicas follow it"),
    "LOADING": _role("it has started and is still loading its data", "info persistence"),
    "MISCONF": Reply("it refuses writes: it cannot save to its disk", ask="info persistence"),
    "IOERR": Reply("it cannot read or write its disk", ask="info persistence"),
    "BUSY": Reply("a script blocks it", ask="script kill"),
    "UNKILLABLE": Reply("a script that has written data blocks it", ask="info commandstats"),
    "OOM": Reply("its memory is full", ask="info memory"),
    "CLUSTERDOWN": _role("its cluster is down", "cluster info"),
    "TRYAGAIN": Reply("its cluster is moving keys", ask="cluster info"),
    "EXECABORT": Reply("it refused a transaction"),
    "WRONGTYPE": Reply("a key of ours holds data of another type"),
    "MOVED": Reply("it is a node of a cluster; a single server is needed", transient=False),
    "ASK": Reply("it is a node of a cluster; a single server is needed", transient=False),
    "CROSSSLOT": Reply("it is a node of a cluster; a single server is needed", transient=False),
    "NOAUTH": Reply("it requires a password, and broker_url has none", transient=False),
    "WRONGPASS": Reply("it refuses the user or the password of broker_url", transient=False),
    "NOPERM": Reply("its ACL forbids the user of broker_url this command", transient=False),
    "DENIED": Reply("its protected mode refuses connections from here", transient=False),
    "NOPROTO": Reply("it does not support this version of the protocol", transient=False),
}
"""By the code of the reply."""

BY_TEXT: Final = {
    "max number of clients": Reply("it accepts no more clients", ask="info clients"),
    "invalid password": Reply("it refuses the password of broker_url", transient=False),
    "no password is set": Reply("broker_url has a password, and it has none", transient=False),
    "without any password configured": Reply(
        "broker_url has a password, and it has none", transient=False
    ),
    "index is out of range": Reply("broker_url names a database that it lacks", transient=False),
}
"""By a part of the text, for replies whose code is the general `ERR`."""

_OF_PIPELINE: Final = " of pipeline caused error: "
"""What the library puts before the reply to a command that it sent together with others."""


def meaning(error: BaseException) -> Reply | None:
    """What the reply behind an exception says; None if there was no reply, or an unknown one."""
    for each in _chain(error):
        found = _meaning(each)
        if found is not None:
            return found
    return None


def translate(error: BaseException, broker_url: str) -> ReplanError:
    """What an exception of the broker's libraries is: Misconfigured, or else Transient."""
    reply, said = meaning(error), _sentence(error)
    if reply is None:
        replied = any(code_of(each) for each in _chain(error))
        what = "the broker cannot be used" if replied else "the broker cannot be reached"
        return Transient(f"{what}: {said}", stage="broker", next_step=NextStep.of("config show"))
    reason = f"the broker cannot be used: {reply.words} ({said})"
    family = Transient if reply.transient else Misconfigured
    return family(reason, stage="broker", next_step=_next_step(reply, broker_url))


def ends_connection(error: BaseException) -> bool:
    """Whether the connection that got this reply is of no more use.

    Its server has taken another role; the address may lead to a better one. Of other replies, some
    belong to each new connection: the library asks for what not every server has.
    """
    reply = BY_CODE.get(code_of(error))
    return reply is not None and reply.elsewhere


def code_of(error: BaseException) -> str:
    """The code of an error reply: its first word; empty if the exception is no such reply."""
    if not isinstance(error, RedisError) or isinstance(error, NoAnswer):
        return ""
    if error.status_code:
        return str(error.status_code)
    first = str(error).rpartition(_OF_PIPELINE)[2].partition(" ")[0]
    is_code = isinstance(error, ResponseError) and first.isupper() and first.isalpha()
    return first if is_code else "ERR" if isinstance(error, ResponseError) else ""


def _meaning(error: BaseException) -> Reply | None:
    code = code_of(error)
    if code in BY_CODE:
        return BY_CODE[code]
    told = str(error).lower()
    if not code and not isinstance(error, NoConnection):
        return None
    return next((reply for text, reply in BY_TEXT.items() if text in told), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and what it was raised from: kombu wraps those of redis."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _sentence(error: BaseException) -> str:
    told = str(error).rpartition(_OF_PIPELINE)[2]
    first = next((line for line in told.splitlines() if line.strip()), "")
    code = next(filter(None, map(code_of, _chain(error))), "")
    return (
        f"{code} {first}".strip() if code and not first.startswith(code) else first or repr(error)
    )


def _next_step(reply: Reply, broker_url: str) -> Advice:
    if reply.ask is None:
        return NextStep.of("config show", _URL)
    place = urlsplit(broker_url)
    server = f"-h {place.hostname or '127.0.0.1'} -p {place.port or 6379}"
    tls = " --tls" if place.scheme == "rediss" else ""
    return ShellCommand(f"redis-cli {server}{tls} {reply.ask}")
