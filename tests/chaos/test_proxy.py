"""The proxy does to a link what it says, and nothing else."""

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import make_url

from tests.services.databases import execute, plain
from tests.services.proxy import Direction, Proxy

LATE = 0.3


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that sends everything back; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection: socket.socket) -> None:
            with connection:
                try:
                    while data := connection.recv(1024):
                        connection.sendall(data)
                except OSError:
                    return

        server = threading.Thread(target=serve)
        server.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        server.join()


@pytest.fixture
def link(echo: int) -> Iterator[Proxy]:
    """A link to it."""
    with Proxy(echo) as made:
        yield made


def client(link: Proxy) -> socket.socket:
    """A connection over the link."""
    return socket.create_connection(("127.0.0.1", link.port), timeout=5)


def said(connection: socket.socket, data: bytes) -> bytes:
    """What comes back for it."""
    connection.sendall(data)
    return connection.recv(1024)


def test_everything_passes(link: Proxy) -> None:
    with client(link) as one, client(link) as other:
        assert said(one, b"one") == b"one"
        assert said(other, b"other") == b"other"


def test_the_end_of_one_direction_is_handed_on(link: Proxy) -> None:
    with client(link) as connection:
        connection.sendall(b"last")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1024) == b"last"
        assert connection.recv(1024) == b""


def test_a_cut_ends_what_there_is_and_lets_new_ones_through(link: Proxy) -> None:
    with client(link) as connection:
        assert said(connection, b"x") == b"x"
        assert link.cut() == 1
        with pytest.raises(ConnectionError):
            said(connection, b"y")
    with client(link) as another:
        assert said(another, b"z") == b"z"


def test_a_silent_link_loses_nothing(link: Proxy) -> None:
    with client(link) as connection:
        assert said(connection, b"before") == b"before"
        link.black_hole()
        connection.settimeout(LATE)
        with pytest.raises(TimeoutError):
            said(connection, b"held")
        link.pass_on()
        connection.settimeout(5)
        assert connection.recv(1024) == b"held"


def silent(connection: socket.socket, data: bytes = b"") -> bool:
    """Whether it takes the data and then says nothing, not even that it has ended."""
    connection.settimeout(LATE)
    connection.sendall(data)
    try:
        connection.recv(1024)
    except TimeoutError:
        return True
    return False


def test_what_is_swallowed_never_arrives_and_new_connections_work(link: Proxy) -> None:
    with client(link) as connection, client(link) as other:
        assert said(connection, b"x") == b"x"
        assert said(other, b"y") == b"y"
        assert link.swallow() == 2
        assert silent(connection, b"lost")
        with client(link) as late:
            assert silent(late, b"lost")
            link.pass_on()
            with client(link) as another:
                assert said(another, b"z") == b"z"
            assert silent(connection, b"lost")
            assert silent(late, b"lost")
        assert link.swallowed_links >= 2


def test_only_what_is_there_is_swallowed_when_new_connections_are_not(link: Proxy) -> None:
    with client(link) as connection:
        assert said(connection, b"x") == b"x"
        link.swallow(new=False)
        assert silent(connection, b"lost")
        with client(link) as another:
            assert said(another, b"z") == b"z"


@pytest.fixture
def recorder() -> Iterator[tuple[int, "queue.Queue[bytes]"]]:
    """A server that notes what it gets and greets; its port, and the notes."""
    notes: queue.Queue[bytes] = queue.Queue()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(ConnectionResetError):  # the proxy's end
                while data := connection.recv(1024):
                    notes.put(data)
                    connection.sendall(b"seen")
                notes.put(b"")

        server = threading.Thread(target=serve)
        server.start()
        yield listener.getsockname()[1], notes
        server.join()


@pytest.mark.parametrize(
    ("directions", "arrives"), [(Direction.TO_CLIENT, True), (Direction.TO_SERVER, False)]
)
def test_one_direction_alone_is_swallowed(
    recorder: tuple[int, "queue.Queue[bytes]"], directions: Direction, arrives: bool
) -> None:
    port, notes = recorder
    with Proxy(port) as link:
        with client(link) as connection:
            assert said(connection, b"first") == b"seen"
            assert notes.get(timeout=5) == b"first"
            link.swallow(directions)
            assert silent(connection, b"second")
        if arrives:
            assert notes.get(timeout=5) == b"second"
            assert notes.get(timeout=5) == b""  # the server learns that the client has closed
        else:
            with pytest.raises(queue.Empty):
                notes.get(timeout=LATE)


def test_a_slow_link_is_late_in_both_directions(link: Proxy) -> None:
    with client(link) as connection:
        link.slow(LATE)
        began = time.monotonic()
        assert said(connection, b"x") == b"x"
        assert time.monotonic() - began >= 2 * LATE


def test_a_server_that_is_down_refuses() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with (
            Proxy(nobody.getsockname()[1]) as link,
            pytest.raises(ConnectionResetError),
            client(link) as connection,
        ):
            connection.recv(1024)


def test_an_answer_to_a_commit_is_lost_and_the_commit_is_not(database_url: str) -> None:
    url = make_url(plain(database_url))
    assert url.port is not None
    with Proxy(url.port) as link:
        execute(database_url, "CREATE TABLE kept (n int)")
        dsn = url.set(port=link.port).render_as_string(hide_password=False)
        link.drop_next_answer()
        connection = psycopg.connect(dsn)
        connection.execute("INSERT INTO kept VALUES (1)")
        with pytest.raises(psycopg.OperationalError):
            connection.commit()
        connection.close()
        assert link.answers_dropped == 1
        with psycopg.connect(dsn) as again:
            again.execute("INSERT INTO kept VALUES (2)")
    with psycopg.connect(plain(database_url)) as direct:
        assert direct.execute("SELECT n FROM kept ORDER BY n").fetchall() == [(1,), (2,)]
