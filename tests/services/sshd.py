"""A real OpenSSH server on loopback, for an ordinary user with a key."""

import contextlib
import itertools
import secrets
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from orchestrator.embedded import port as ports
from orchestrator.embedded.process import Process, Tether
from tests.services.accounts import Account, account_for_tests
from tests.services.availability import UnavailableError, give_up
from tests.services.packages import library_path, unpacked
from tests.services.processes import descendants, kill, marked, owned_by

STARTS_WITHIN: Final = 10.0

CONFIGURATION: Final = """\
ListenAddress {host}
Port {port}
HostKey {folder}/host_key
PidFile none
UsePAM no
UseDNS no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
AllowUsers {user}
AuthorizedKeysFile {folder}/authorized_keys
PrintMotd no
SetEnv {environment}
Subsystem sftp {sftp}
"""


@dataclass(frozen=True, slots=True)
class Program:
    """The server's binary, and what it needs in its environment and from its caller."""

    sshd: Path
    env: dict[str, str]
    sftp: Path
    extra: tuple[str, ...] = ()


@dataclass(slots=True)
class SshServer:
    """One server with a host key and a client key of its own; it can be stopped like a host."""

    folder: Path
    program: Program
    account: Account
    extra: tuple[str, ...] = ()
    host: str = ports.LOOPBACK
    port: int = field(default_factory=ports.any_free)
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    host_public_key: str = ""
    _process: Process | None = None

    @property
    def user(self) -> str:
        """Who logs in."""
        return self.account.name

    @property
    def home(self) -> Path:
        """The home folder of that user, in which remote commands start."""
        return self.account.home

    @property
    def key_path(self) -> Path:
        """The private key that is let in."""
        return self.folder / "client_key"

    @property
    def other_key_path(self) -> Path:
        """A private key that is not let in."""
        return self.folder / "other_key"

    @property
    def known_hosts(self) -> Path:
        """A known_hosts file that names this server alone."""
        return self.folder / "known_hosts"

    @property
    def known_hosts_line(self) -> str:
        """Its line in a known_hosts file."""
        return f"[{self.host}]:{self.port} {self.host_public_key}"

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder / "sshd.log"

    @property
    def pid(self) -> int | None:
        """The process that listens, None while it is stopped."""
        return None if self._process is None else self._process.pid

    def prepare(self) -> None:
        """Write its keys and its configuration."""
        self.folder.chmod(0o755)
        public = new_key(self.key_path)
        new_key(self.other_key_path)
        (self.folder / "authorized_keys").write_text(f"{public}\n")
        (self.folder / "authorized_keys").chmod(0o644)
        self.change_host_key()
        environment = {"REPLAN_TEST_SERVER": self.token, **self.account.environment}
        words = " ".join(f'{name}="{value}"' for name, value in environment.items())
        text = CONFIGURATION.format(
            host=self.host,
            port=self.port,
            folder=self.folder,
            user=self.user,
            environment=words,
            # A login shell has to find it where the account's forced command runs it.
            sftp="internal-sftp" if self.account.exclusive else self.program.sftp,
        )
        extra = (line.replace("{folder}", str(self.folder)) for line in self.extra)
        lines = (*extra, *self.program.extra, *self.account.configuration)
        (self.folder / "sshd_config").write_text("\n".join((*lines, text)))

    def change_host_key(self) -> None:
        """Make a new host key, as if the host had been set up again; effective after a restart.

        The file `known_hosts` names the new key.
        """
        self.host_public_key = new_key(self.folder / "host_key")
        self.known_hosts.write_text(f"{self.known_hosts_line}\n")

    def start(self) -> None:
        """Return when it listens; UnavailableError with its log if it does not."""
        command = (str(self.program.sshd), "-D", "-e", "-f", str(self.folder / "sshd_config"))
        self._process = Process.launch(
            self.account.launch(command, self.folder),
            tether=Tether(signal.SIGTERM),
            log=self.log,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", **self.program.env},
            cwd=self.folder,
        )
        deadline = time.monotonic() + STARTS_WITHIN
        while not self._greets():
            if self._process.exit_code() is not None or time.monotonic() > deadline:
                self.stop()
                said = " / ".join(self.log.read_text(errors="replace").splitlines()[-5:])
                raise UnavailableError(f"sshd did not start: {said}")
            time.sleep(0.01)

    def stop(self) -> None:
        """End the server and its connections; what runs on the host goes on, as on a real one."""
        process, self._process = self._process, None
        if process is None:
            return
        sessions = [pid for pid, name in descendants(process.pid) if name.startswith("sshd")]
        process.end(signal.SIGTERM, 2.0)
        kill(sessions)

    def restart(self) -> None:
        """Stop and start on the same port."""
        self.stop()
        self.start()

    def end_commands(self) -> None:
        """Kill everything that was started over its connections."""
        kill(marked(f"REPLAN_TEST_SERVER={self.token}"))

    def close(self) -> None:
        """Stop it and leave no process behind."""
        self.stop()
        self.end_commands()

    def _greets(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=1.0) as connection:
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False


class SshServers(Protocol):
    """Starts a further server; `extra` are lines for the top of its sshd_config.

    `{folder}` stands for the folder of the server.
    """

    def __call__(self, *extra: str) -> SshServer:
        """A running server."""
        ...


@pytest.fixture(scope="session")
def ssh_account() -> Iterator[Account]:
    """The ordinary user of all servers, with an empty home of its own."""
    scratch = Path(tempfile.mkdtemp(prefix="replan-ssh-home-"))
    scratch.chmod(0o755)
    try:
        with account_for_tests(scratch) as account:
            yield account
            if account.exclusive:
                kill(owned_by(account.uid))
    except UnavailableError as reason:
        give_up(reason)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@pytest.fixture(scope="session")
def sshd(ssh_account: Account) -> Iterator[SshServer]:
    """A server that all tests share: do not stop it, ask `sshd_factory` for one of your own."""
    with servers(ssh_account) as another:
        yield another()


@pytest.fixture
def sshd_factory(ssh_account: Account) -> Iterator[SshServers]:
    """Starts servers that belong to this test; all are stopped after it."""
    with servers(ssh_account) as another:
        yield another


@contextlib.contextmanager
def servers(account: Account) -> Iterator[SshServers]:
    """A maker of servers; what it made is closed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="replan-sshd-"))
    folder.chmod(0o755)
    numbers = itertools.count(1)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)

        def another(*extra: str) -> SshServer:
            try:
                place = folder / str(next(numbers))
                place.mkdir()
                server = SshServer(place, program(), account, extra)
                server.prepare()
                server.start()
            except UnavailableError as reason:
                give_up(reason)
            stack.callback(server.close)
            return server

        yield another


def program() -> Program:
    """The installed server, else an unpacked one; UnavailableError if neither can be had."""
    installed = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin")
    if installed is not None:
        return Program(Path(installed), {}, sftp_server(Path("/")))
    root = unpacked("openssh-server")
    helpers = {"SshdSessionPath": "sshd-session", "SshdAuthPath": "sshd-auth"}
    extra = tuple(
        f"{keyword} {found}"
        for keyword, name in helpers.items()
        for found in root.glob(f"usr/lib*/openssh/{name}")
    )
    libraries = library_path(root)
    env = {"LD_LIBRARY_PATH": libraries} if libraries else {}
    return Program(root / "usr/sbin/sshd", env, sftp_server(root), extra)


def sftp_server(root: Path) -> Path:
    """The program that carries files over, of the server below `root`."""
    for folder in ("lib/openssh", "libexec/openssh", "lib/ssh", "libexec"):
        program = root / "usr" / folder / "sftp-server"
        if program.exists():
            return program
    raise UnavailableError(f"there is an sshd, but no sftp-server below {root}")


def new_key(path: Path) -> str:
    """Write a new ed25519 private key; its public half in one line."""
    key = Ed25519PrivateKey.generate()
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
