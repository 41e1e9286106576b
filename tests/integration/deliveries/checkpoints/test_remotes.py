"""What real git says of remotes that are away, and of those that do not let us in."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from shared.domain.delivery import CheckpointEnding
from shared.domain.errors import Unavailable
from tests.integration.deliveries.checkpoints.accepted import Accepted
from tests.integration.workspaces.sources import run_git


@pytest.fixture
def web() -> Iterator[str]:
    """A server that answers with the status that the path begins with."""

    class Handler(BaseHTTPRequestHandler):
        """Answers."""

        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            """The status, and what asks for a password."""
            self.send_response(int(self.path.split("/")[1]))
            self.send_header("WWW-Authenticate", 'Basic realm="here"')
            self.send_header("Content-Length", "0")
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_server_that_does_not_let_us_in_ends_it(
    accepted: Accepted, web: str, status: int
) -> None:
    """Nobody is asked for a password."""
    accepted.use(remote=f"{web}/{status}/app.git")
    fact = accepted.checkpoint()
    assert fact.ending is CheckpointEnding.REFUSED
    assert "refuses localhost" in fact.reason


@pytest.mark.parametrize("remote", ["{web}/503/app.git", "ssh://127.0.0.1:1/app.git"])
def test_a_server_that_is_away_is_waited_for(accepted: Accepted, web: str, remote: str) -> None:
    accepted.use(remote=remote.format(web=web))
    with pytest.raises(Unavailable):
        accepted.checkpoint()
    assert accepted.row().status == "under_way"


def test_what_the_account_is_used_to_pushing_stays_here(accepted: Accepted, tmp_path: Path) -> None:
    """No tag, no hook, no signature and no option of its configuration has a part in it."""
    home = tmp_path / "home"
    (home / "hooks").mkdir(parents=True)
    hook = home / "hooks/pre-push"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    settings = {
        "core.hooksPath": str(home / "hooks"),
        "push.followTags": "true",
        "push.gpgSign": "true",
        "push.pushOption": "merge",
        "push.default": "matching",
        "push.recurseSubmodules": "only",
    }
    for name, text in settings.items():
        run_git(tmp_path, "config", "--file", str(home / ".gitconfig"), name, text)
    accepted.git("tag", "-a", "-m", "mine", "mine", accepted.head)
    accepted.variables = f"export HOME='{home}'"

    assert accepted.checkpoint().ending is CheckpointEnding.COMPLETE

    refs = run_git(accepted.remote, "for-each-ref", "--format=%(refname)")
    assert refs == f"refs/heads/{accepted.branch}"
