"""What the model gateway adds: time to the first byte, and to a whole stream.

python -m benchmarks.gateway

A provider of models is played by a process of this machine, which is asked directly and through the
gateway, in turns: the gateway of a whole installation, with its ledger, for an attempt that runs.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
from sqlalchemy import insert, text

from benchmarks.stage import one_step
from orchestrator.acts.submission import Submission, submit
from orchestrator.embedded.stack import run_stack
from shared.domain.config import Policy
from shared.store.database import Database
from shared.store.tables import HostRow
from workers.attempt_token import attempt_token
from workers.installation_key import GATEWAY_KEY

FIRST_BYTES: Final = 100
STREAMS: Final = 5
EVENTS: Final = 300
PACE: Final = 0.01
"""Seconds between two events: as fast as fast models speak."""

GAP: Final = 0.02
"""Seconds between two questions: an agent acts between them."""

_HERE: Final = {"name": "here", "connection": "local", "address": "", "port": 0}
_TOLD: Final = {"input_tokens": 10, "output_tokens": 1000}
_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)


def question(words: int = 3000) -> dict[str, Any]:
    """What an agent asks somewhere in its work: about 20 KB."""
    said = [{"role": "user", "content": "Please look. " * (words // 2)}]
    return {"model": "claude-sonnet-5-5", "max_tokens": 1000, "stream": True, "messages": said}


def event(kind: str, **fields: Any) -> bytes:
    """One event in a chunk of its own, as providers send it."""
    told = f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
    return f"{len(told):x}\r\n".encode() + told + b"\r\n"


async def provide(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer as a provider: at the pace that the model's name says, `fast` without a pause."""
    begin = event("message_start", message={"usage": _TOLD})
    delta = {
        "type": "text_delta",
        "text": "Some eighty characters of an answer, as models say it. ",
    }
    piece = event("content_block_delta", index=0, delta=delta)
    end = event("message_delta", delta={"stop_reason": "end_turn"}, usage=_TOLD)
    while head := await reader.readuntil(b"\r\n\r\n"):
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        body = await reader.readexactly(int(length))
        asked = json.loads(body)
        writer.write(_HEAD + begin)
        pause = {"paced": PACE, "fast": 0.0}.get(asked.get("user", ""))
        if pause is not None:
            for _ in range(EVENTS):
                writer.write(piece)
                await writer.drain()
                if pause:
                    await asyncio.sleep(pause)
        writer.write(end + event("message_stop") + b"0\r\n\r\n")
        await writer.drain()


async def play() -> None:
    """Print the port, and answer until the process is ended."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await provide(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


@dataclass(frozen=True, slots=True)
class Sides:
    """The two addresses to ask, with the headers that each wants."""

    direct: str
    gateway: str
    token: str

    def ask(self, client: httpx2.Client, through: bool, pace: str) -> tuple[float, float]:
        """Seconds to the first byte of the body, and to its end."""
        url, key = (self.gateway, self.token) if through else (self.direct, "direct")
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
        begun = time.perf_counter()
        with client.stream(
            "POST", f"{url}/v1/messages", json={**question(), "user": pace}, headers=headers
        ) as answer:
            answer.raise_for_status()
            pieces = answer.iter_raw()
            next(pieces)
            first = time.perf_counter() - begun
            for _ in pieces:
                pass
        return first, time.perf_counter() - begun


@contextmanager
def set_up() -> Iterator[Sides]:
    """A provider, an installation, and an attempt that runs."""
    words = (sys.executable, "-m", "benchmarks.gateway", "provider")
    with (
        tempfile.TemporaryDirectory(prefix="replan-bench-") as folder,
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as provider,
    ):
        try:
            assert provider.stdout is not None
            direct = f"http://127.0.0.1:{provider.stdout.readline().strip()}"
            with installation(Path(folder), direct) as (gateway, token):
                yield Sides(direct, gateway, token)
        finally:
            provider.terminate()


@contextmanager
def installation(folder: Path, provider: str) -> Iterator[tuple[str, str]]:
    """The address of the gateway of a whole installation, and the token of an attempt."""
    import os

    environ = {**os.environ, "ANTHROPIC_BASE_URL": provider, "ANTHROPIC_API_KEY": "k" * 40}
    with run_stack(folder, environ, gateway="") as stack:
        database = Database(stack.database_url)
        try:
            with database.begin() as connection:
                connection.execute(insert(HostRow).values(_HERE))
            plan = one_step(["sleep 600"])
            submit(
                database,
                Submission("b", ("here",), Policy(task_cost_cap=0.0), plan=plan),
            )
            running = text("SELECT key FROM attempts WHERE outcome = 'running'")
            deadline = time.monotonic() + 60
            key = None
            while key is None and time.monotonic() < deadline:
                with database.autocommit() as connection:
                    key = connection.execute(running).scalar()
                time.sleep(0.05)
            assert key is not None, "the attempt did not start"
        finally:
            database.close()
        port = (folder / "gateway-port").read_text().strip()
        token = attempt_token((folder / GATEWAY_KEY).read_bytes().strip(), key)
        yield f"http://127.0.0.1:{port}", token


def main() -> None:
    """Measure in turns, and print medians."""
    if sys.argv[1:] == ["provider"]:
        asyncio.run(play())
        return
    with set_up() as sides, httpx2.Client(timeout=60) as client:
        for through in (True, False) * 5:
            sides.ask(client, through, "none")
        times: dict[tuple[str, bool], list[tuple[float, float]]] = {}
        for pace, rounds in (("none", FIRST_BYTES), ("paced", STREAMS), ("fast", STREAMS)):
            for _ in range(rounds):
                for through in (False, True):
                    time.sleep(GAP)
                    times.setdefault((pace, through), []).append(sides.ask(client, through, pace))
    for name, choose in (("median", statistics.median), ("least", min)):
        first = {way: choose(t[0] for t in times["none", way]) * 1e3 for way in (False, True)}
        print(
            f"first byte, {name}: {first[False]:.2f} ms directly, {first[True]:.2f} ms through the "
            f"gateway: {first[True] - first[False]:.2f} ms more"
        )
    for pace in ("paced", "fast"):
        whole = {way: statistics.median(t[1] for t in times[pace, way]) for way in (False, True)}
        print(
            f"stream of {EVENTS} events, {pace}: {EVENTS / whole[False]:.0f} events/s directly, "
            f"{EVENTS / whole[True]:.0f} through the gateway: "
            f"{(whole[True] / whole[False] - 1) * 100:+.1f} % time"
        )


if __name__ == "__main__":
    main()
