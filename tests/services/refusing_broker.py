"""A relay before a real broker that answers chosen commands with an error reply of its own."""

import asyncio
import contextlib
from typing import Final
from urllib.parse import urlsplit

from orchestrator.embedded import port as ports
from tests.services.relay import Connection, Relay

EVERY: Final = "*"
"""Stands for every command."""

_SUBSCRIBING: Final = {"SUBSCRIBE", "PSUBSCRIBE"}
_COLLECTIONS: Final = b"*%~>"


class RefusingBroker(Relay[Connection]):
    """Hands commands on to the server of an address on loopback, except those that it refuses."""

    def __init__(self, server_url: str) -> None:
        super().__init__()
        self.server_url = server_url
        self.seen: set[str] = set()
        self._refused: dict[str, str] = {}
        self._counted = 0

    @property
    def url(self) -> str:
        """The address to use in place of the server's."""
        return urlsplit(self.server_url)._replace(netloc=self._netloc()).geturl()

    @property
    def refusals(self) -> int:
        """How many commands it has refused so far."""
        return self._counted

    def refuse(self, reply: str, *commands: str) -> None:
        """Answer these commands with that error from now on, on old connections and new ones."""
        self._in_loop(self._set(dict.fromkeys(commands, reply)))

    def accept(self) -> None:
        """Refuse nothing."""
        self._in_loop(self._set({}))

    def point_to(self, server_url: str) -> None:
        """Lead new connections to another server; old ones stay where they are."""
        self.server_url = server_url

    def _netloc(self) -> str:
        account = urlsplit(self.server_url).netloc.rpartition("@")[0]
        return f"{account}{'@' if account else ''}{ports.LOOPBACK}:{self.port}"

    async def _set(self, refused: dict[str, str]) -> None:
        self._refused = refused

    def connection(self, writer: asyncio.StreamWriter) -> Connection:
        """A client of the broker."""
        return Connection([writer])

    async def serve(self, reader: asyncio.StreamReader, connection: Connection) -> None:
        """Hand on one command after the other, and all that comes once it has subscribed."""
        (client,) = connection.writers
        there, server = await connection.open(urlsplit(self.server_url).port or 0)
        with contextlib.suppress(ExceptionGroup, asyncio.IncompleteReadError):
            async with asyncio.TaskGroup() as group:
                pushes = False
                while True:
                    raw, name = await _command(reader)
                    self.seen.add(name)
                    if name in self._refused or EVERY in self._refused:
                        await self._refuse(client, name)
                        continue
                    server.write(raw)
                    await server.drain()
                    if name in _SUBSCRIBING and not pushes:
                        pushes = True
                        group.create_task(_copy(there, client))
                    if not pushes:
                        client.write(await _value(there))
                        await client.drain()

    async def _refuse(self, client: asyncio.StreamWriter, name: str) -> None:
        self._counted += 1
        reply = self._refused.get(name, self._refused.get(EVERY, ""))
        client.write(f"-{reply}\r\n".encode())
        await client.drain()


async def _command(reader: asyncio.StreamReader) -> tuple[bytes, str]:
    """The next command as it came, and its name in capitals."""
    raw = await _value(reader)
    return raw, raw.split(b"\r\n", 3)[2].decode().upper()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    raise EOFError


async def _value(reader: asyncio.StreamReader) -> bytes:
    """One value of the protocol (RESP), with all that it holds."""
    line = await reader.readuntil(b"\r\n")
    kind, rest = line[:1], line[1:-2]
    if kind in (b"$", b"=", b"!") and rest != b"-1":
        return line + await reader.readexactly(int(rest) + 2)
    if kind not in [bytes([each]) for each in _COLLECTIONS] or rest == b"-1":
        return line
    held = int(rest) * (2 if kind == b"%" else 1)
    for _ in range(held):
        line += await _value(reader)
    if kind == b">":  # not a reply: the reply follows
        line += await _value(reader)
    return line
