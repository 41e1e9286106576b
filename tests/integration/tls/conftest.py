"""A Postgres and a Redis that speak TLS alone, and one of each that is not who it says."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from orchestrator.embedded import port
from orchestrator.embedded import postgres as embedded
from orchestrator.embedded.postgres import EmbeddedPostgres
from orchestrator.embedded.supervisor import Supervisor
from orchestrator.embedded.watched import Child
from tests.services.availability import UnavailableError, give_up
from tests.services.certificates import Authority, Certificate
from tests.services.packages import unpacked
from tests.services.redis_server import server

ELSEWHERE = "192.0.2.1"
"""An address that is not the server's."""

Serve = Callable[[str], str]
"""Starts a server with a certificate for that address; its URL without anything about TLS."""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Whom the clients of this test trust."""
    return Authority(tmp_path / "authority.pem")


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """Ends what a test has started."""
    with Supervisor(tmp_path / "logs") as running:
        yield running


@pytest.fixture
def postgres(
    tmp_path: Path,
    authority: Authority,
    supervisor: Supervisor,
    monkeypatch: pytest.MonkeyPatch,
) -> Serve:
    """The embedded one was built without TLS: here another is run the same way."""
    monkeypatch.setattr(embedded, "folder_of_binaries", binaries)
    settings = {"ssl": "on", "ssl_cert_file": "own.pem", "ssl_key_file": "own.key"}
    monkeypatch.setattr(embedded, "SETTINGS", embedded.SETTINGS | settings)

    def serve(address: str) -> str:
        tmp_path.chmod(0o755)
        made = EmbeddedPostgres(tmp_path / "postgres", durable=False)
        child = made.child()
        write(tmp_path / "postgres/cluster", authority.certificate(address))
        rules = "hostssl all all 127.0.0.1/32 scram-sha-256\n"
        (tmp_path / "postgres/cluster/pg_hba.conf").write_text(rules)
        supervisor.add(child)
        made.create_database()
        return made.url().replace("+psycopg", "")

    return serve


@pytest.fixture
def tls_redis(tmp_path: Path, authority: Authority, supervisor: Supervisor) -> Serve:
    """A genuine Redis whose only port wants TLS."""

    def serve(address: str) -> str:
        try:
            program, env = server()
        except UnavailableError as reason:
            give_up(reason)
        write(tmp_path, authority.certificate(address))
        number = port.any_free()
        options = {
            "bind": port.LOOPBACK,
            "port": "0",
            "tls-port": str(number),
            "tls-cert-file": str(tmp_path / "own.pem"),
            "tls-key-file": str(tmp_path / "own.key"),
            "tls-ca-cert-file": str(authority.file),
            "tls-auth-clients": "no",
            "save": "",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        url = f"rediss://{port.LOOPBACK}:{number}/0"
        supervisor.add(
            Child("redis", (program, *words), env=env, cwd=tmp_path, ready=lambda: _answers(url))
        )
        return url

    return serve


def binaries() -> Path:
    """A Postgres of the distribution, installed or unpacked."""
    try:
        for root in (Path("/"), unpacked("postgresql")):
            for found in sorted(root.glob("usr/lib/postgresql/*/bin/postgres"), reverse=True):
                return found.parent
    except UnavailableError as reason:
        give_up(reason)
    return give_up(UnavailableError("no Postgres with TLS is installed"))


def write(folder: Path, own: Certificate) -> None:
    """Put a certificate and its key where a server finds them."""
    (folder / "own.pem").write_bytes(own.certificate)
    (folder / "own.key").touch(mode=0o600)
    (folder / "own.key").write_bytes(own.key)


def _answers(url: str) -> bool:
    with redis.Redis.from_url(f"{url}?ssl_cert_reqs=none&ssl_check_hostname=false") as client:
        try:
            return bool(client.ping())
        except (redis.ConnectionError, redis.TimeoutError):
            return False
