"""A genuine Redis, because the broker in a deployment may be one: installed, or unpacked."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from orchestrator.embedded import port
from orchestrator.embedded.supervisor import Supervisor
from orchestrator.embedded.watched import Child
from tests.services.availability import UnavailableError, give_up
from tests.services.packages import library_path, unpacked


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A genuine Redis that all tests share, as whoever used it last left it."""
    try:
        program, env = server()
    except UnavailableError as reason:
        give_up(reason)
    with (
        tempfile.TemporaryDirectory(prefix="replan-redis-") as folder,
        Supervisor(Path(folder) / "logs") as supervisor,
    ):
        number = port.any_free()
        url = f"redis://{port.LOOPBACK}:{number}/0"
        supervisor.add(
            Child(
                name="redis",
                argv=(program, "--bind", port.LOOPBACK, "--port", str(number), "--save", ""),
                env=env,
                cwd=Path(folder),
                ready=lambda: answers(url),
            )
        )
        yield url


def server() -> tuple[str, dict[str, str]]:
    """The server's binary and its environment; UnavailableError if there is no way to get one."""
    installed = shutil.which("redis-server", path="/usr/bin:/usr/local/bin:/opt/homebrew/bin")
    if installed is not None:
        return installed, {"LC_ALL": "C"}
    root = unpacked("redis-server")
    return str(root / "usr/bin/redis-server"), {
        "LC_ALL": "C",
        "LD_LIBRARY_PATH": library_path(root),
    }


def answers(url: str) -> bool:
    """Whether it is Redis itself that answers there."""
    with redis.Redis.from_url(url, socket_timeout=1.0) as client:
        try:
            return "valkey_version" not in client.info("server")
        except (redis.ConnectionError, redis.TimeoutError):
            return False
