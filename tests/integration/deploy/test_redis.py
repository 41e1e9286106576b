"""The broker's command of the compose file, run with a genuine Redis."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from orchestrator.embedded import port
from tests.services.availability import UnavailableError, give_up
from tests.services.redis_server import server
from tests.services.ring import eventually

PASSWORD = "only-a-test"


@pytest.fixture
def broker(services: dict[str, Any]) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The server as the service starts it, but on a port of its own."""
    try:
        program, env = server()
    except UnavailableError as reason:
        give_up(reason)
    number = port.any_free()
    shell, option, script = services["redis"]["command"]
    script = script.replace("$$", "$").replace("bind * -::*", f"bind 127.0.0.1\nport {number}")
    with tempfile.TemporaryDirectory(prefix="replan-redis-") as folder:
        path = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
        process = subprocess.Popen(
            [shell, option, script],
            env={**env, "PATH": path, "REDIS_PASSWORD": PASSWORD},
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )
        try:
            eventually(lambda: answers(number), "Redis")
            yield process, number
        finally:
            process.terminate()
            process.wait(10)


def answers(number: int) -> bool:
    """Whether somebody listens."""
    try:
        redis.Redis(port=number).ping()
    except redis.AuthenticationError:
        return True
    except redis.ConnectionError:
        return False
    return True


def test_it_lets_nobody_in_without_the_password(broker: tuple[Any, int]) -> None:
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=broker[1]).ping()
    assert redis.Redis(port=broker[1], password=PASSWORD).ping()


def test_it_is_bounded_and_keeps_nothing(broker: tuple[Any, int]) -> None:
    client = redis.Redis(port=broker[1], password=PASSWORD, decode_responses=True)
    assert client.config_get("maxmemory") == {"maxmemory": str(256 * 1024 * 1024)}
    assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    assert client.config_get("save") == {"save": ""}
    assert client.config_get("appendonly") == {"appendonly": "no"}


def test_no_list_of_processes_shows_the_password(broker: tuple[Any, int]) -> None:
    """And the shell has become the server, so that signals reach it."""
    process, _ = broker
    done = subprocess.run(
        ["ps", "-o", "args=", "-p", str(process.pid)], capture_output=True, text=True, check=True
    )
    assert "redis-server" in done.stdout
    assert PASSWORD not in done.stdout
