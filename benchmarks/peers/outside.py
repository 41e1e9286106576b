"""Peers: a program, run by the peer's own Python, that is told the work and answers a line."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from benchmarks.peers.catalogue import Contestant
from benchmarks.peers.environments import ROOT, Environment, last_words
from benchmarks.peers.programs.brief import Brief, Server
from benchmarks.peers.takings import Taking
from benchmarks.peers.workloads import Workload
from benchmarks.stage import Stage
from tests.services.databases import execute, of_database, plain
from tests.services.sshd import SshServer

DATABASE: Final = "peers"
BROKER_NUMBER: Final = 7
PATIENCE: Final = 240.0


class DidNotAnswerError(Exception):
    """A program that failed or took too long; the message says which, in its own last words."""


def own_database(stage: Stage, name: str = DATABASE) -> str:
    """A fresh database on the stage's server, as a libpq URL."""
    url = stage.services.database_url
    execute(url, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
    execute(url, "CREATE DATABASE {}", name)
    return plain(of_database(url, name))


def take(stage: Stage, contestant: Contestant, workload: Workload) -> Taking:
    """Let a peer do the workload once; raises DidNotAnswerError."""
    with tempfile.TemporaryDirectory(prefix="peer-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch, "own")
        folder.mkdir()
        brief = Brief(
            plans=workload.plans,
            commands=workload.commands,
            form=contestant.form,
            servers=tuple(told(server) for server in stage.sshd),
            database=own_database(stage),
            broker=stage.services.broker_url.rpartition("/")[0] + f"/{BROKER_NUMBER}",
            scratch=str(folder),
        )
        file = Path(scratch, "brief.json")
        file.write_text(json.dumps(asdict(brief)), encoding="utf-8")
        file.chmod(0o600)
        text = run(Environment(contestant.peer).python, contestant.peer, file)
    try:
        return Taking.parse(text, workload.count)
    except ValueError as error:
        raise DidNotAnswerError(str(error)) from error


def told(server: SshServer) -> Server:
    """A server as a program is told of it."""
    return Server(
        host=server.host,
        port=server.port,
        user=server.user,
        key=str(server.key_path),
        known_hosts=str(server.known_hosts),
    )


def run(python: Path, peer: str, brief: Path, patience: float = PATIENCE) -> str:
    """What the peer's program prints; raises DidNotAnswerError.

    Whatever the program has started is ended with it.
    """
    words: Sequence[str] = (str(python), "-m", f"benchmarks.peers.programs.with_{peer}", str(brief))
    try:
        program = subprocess.Popen(
            words,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    except OSError as error:
        raise DidNotAnswerError(f"it cannot be started: {error.strerror}") from error
    with program:
        try:
            said, complained = program.communicate(timeout=patience)
        except subprocess.TimeoutExpired as error:
            raise DidNotAnswerError(f"it took longer than {patience:.0f} s") from error
        finally:
            end(program)
    if program.returncode != 0:
        raise DidNotAnswerError(f"it failed: {last_words(complained)}")
    return said


def end(program: subprocess.Popen[str]) -> None:
    """End what is left of its process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
