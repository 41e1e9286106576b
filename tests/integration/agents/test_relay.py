"""The way of a contained agent to its gateway: the only one, with whatever program the host has."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from shared.domain.containment import Networks
from tests.integration.agents.contained_hosts import Host


@contextmanager
def http_server(answer: bytes) -> Iterator[str]:
    """The address of a server that gives that answer to whatever is asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def programs_without(folder: Path, *missing: str) -> str:
    """A PATH on which these programs are not."""
    for place in ("/usr/sbin", "/usr/bin", "/bin"):
        for program in Path(place).iterdir():
            if not program.name.startswith(missing) and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return str(folder)


@pytest.mark.parametrize("relay", ["python3", "perl"])
def test_the_gateway_is_the_only_address(host: Host, relay: str) -> None:
    """Through whatever program of the host carries the bytes."""
    folder = host.root / "bin"
    folder.mkdir(mode=0o755)
    path = programs_without(folder, *({"python", "perl"} - {relay.rstrip("3")}))
    with http_server(b"x" * 200_000) as gateway:
        text = f"curl -sS {gateway} | wc -c; curl -sS -m 5 http://127.0.0.1:{host.port}/"
        done = host.run(text, Networks.GATEWAY, gateway, path)
        assert done.stdout == "200000\n", done.stderr
    assert host.arrived == []


def test_without_a_relay_it_does_not_run(host: Host) -> None:
    folder = host.root / "bin"
    folder.mkdir(mode=0o755)
    path = programs_without(folder, "python", "perl")
    done = host.run("touch ran", Networks.GATEWAY, path=path)
    # Some have a Python that no PATH names.
    ran = Path("/usr/libexec/platform-python").exists()
    assert (done.returncode, done.stderr.split()) == (
        (0, []) if ran else (125, ["uncontained", "relay"])
    )
    assert (host.workspace / "ran").exists() is ran
