"""A throw-away Debian host: a root of its own in namespaces of its own, reached over real SSH.

Its writes go to a layer over the base, so that a new host costs a tenth of a second and breaking
it breaks nothing else. It has its own mounts, processes, host name and network, which has only a
loopback; whoever logs in lacks the rights by which a namespace could be left or the clock set.
"""

import contextlib
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from orchestrator.embedded.port import LOOPBACK
from shared.domain.host import Host
from tests.services.availability import UnavailableError
from tests.services.debian_base import DebianBase
from tests.services.sshd import new_key

STARTS_WITHIN: Final = 45.0
ARCHIVES: Final = "http://archive.test:8000"
"""Where a host finds the folder that is served to it."""
_ARCHIVES_AT: Final = "127.0.0.8"

STAND_INS: Final = Path(__file__).with_name("debian")
"""Programs that every host gets: in systemd's place, and against services that start unasked."""

# The first process reaps what services leave behind. `$1` is the host's folder, `$2` the base.
FIRST: Final = """\
set -e
cd "$1"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/root"
cd root
mount -t proc proc proc
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do
    : > "dev/$name"
    mount --bind "/dev/$name" "dev/$name"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
ln -s fd/1 dev/stdout
ln -s fd/2 dev/stderr
mount -t tmpfs -o mode=755 tmpfs run
mkdir -p run/sshd
mkdir -m 1777 run/lock
ip link set lo up
hostname "$3"
mkdir .before
pivot_root . .before
umount -l /.before
rmdir /.before
exec chroot / /bin/sh -c ': > /run/ready; while :; do sleep 1000 & wait $!; done'
"""

SSHD: Final = """\
HostKey /etc/ssh/throw_away_key
AuthorizedKeysFile /etc/ssh/throw_away_authorized
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
UseDNS no
PidFile none
"""

WITHHELD: Final = "-sys_time,-sys_module,-sys_boot,-sys_rawio,-syslog,-mknod"
"""What nobody in a host may do: set the clock of the machine, load modules, restart it, make
devices."""

HOSTS: Final = f"127.0.0.1 localhost {{name}}\n{_ARCHIVES_AT} archive.test\n"


@dataclass
class DebianHost:
    """One host. `environment` is set for whoever logs in, `prefix` are words before the server.

    Without `mounts` who logs in cannot mount. `folder` is its own, on a file system that can carry
    an overlay, and is removed with it. `files` is a tree that lies over its root from the start.
    """

    base: DebianBase
    folder: Path
    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    mounts: bool = False
    archives: Path | None = None
    files: Path | None = None
    host_key: str = ""
    _first: subprocess.Popen[bytes] | None = None
    _archives: subprocess.Popen[bytes] | None = None
    _listener: socket.socket | None = None
    _door: threading.Thread | None = None
    _sessions: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def key_path(self) -> Path:
        """The private key that is let in."""
        return self.folder / "client_key"

    @property
    def port(self) -> int:
        """Where it listens on this machine's loopback."""
        if self._listener is None:
            raise UnavailableError(f"{self.name} is not running")
        return int(self._listener.getsockname()[1])

    def described(self) -> Host:
        """It as it is enrolled: root, by key."""
        return Host(
            name=self.name,
            address=LOOPBACK,
            port=self.port,
            user="root",
            key_path=str(self.key_path),
            host_key=self.host_key,
        )

    def start(self) -> None:
        """Return when it can be logged in to; raises UnavailableError, and leaves nothing."""
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)
        self._write_files(self.folder / "upper")
        spaces = ("--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child")
        words = ("sh", "-c", FIRST, "sh", str(self.folder), str(self.base.root), self.name)
        with (self.folder / "first.log").open("wb") as log:
            self._first = subprocess.Popen(
                # It ends with the thread that has started it, however that ends.
                (
                    "setpriv",
                    "--pdeathsig",
                    "KILL",
                    "--",
                    "unshare",
                    *spaces,
                    "--propagation",
                    "private",
                    "--",
                    *words,
                ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._await_ready()
        if self.archives is not None:
            self._serve(self.archives)
        self._listener = socket.create_server((LOOPBACK, 0))
        self._door = threading.Thread(target=self._let_in, args=(self._listener,), daemon=True)
        self._door.start()

    def run(self, script: str, *, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a script in the host as root, with all rights and not through SSH."""
        return subprocess.run(
            (
                *self._enter(),
                "env",
                "-i",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME=/root",
                "sh",
                "-c",
                script,
            ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )

    def close(self) -> None:
        """End it, and everything in it."""
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        if self._door is not None:
            self._door.join()
        for process in (self._archives, self._first, *self._sessions):
            if process is not None:
                process.send_signal(signal.SIGKILL)
                process.wait()
        self._archives = self._first = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_files(self, upper: Path) -> None:
        for tree in filter(None, (STAND_INS, self.files)):
            shutil.copytree(tree, upper, dirs_exist_ok=True)
        etc = upper / "etc"
        (etc / "ssh").mkdir(parents=True)
        (etc / "hostname").write_text(f"{self.name}\n")
        (etc / "hosts").write_text(HOSTS.format(name=self.name))
        (etc / "resolv.conf").write_text("nameserver 127.0.0.53\noptions timeout:1 attempts:1\n")
        self.host_key = new_key(etc / "ssh/throw_away_key")
        (etc / "ssh/throw_away_authorized").write_text(f"{new_key(self.key_path)}\n")
        words = " ".join(f'{name}="{value}"' for name, value in self.environment.items())
        line = f"SetEnv {words}\n" if words else ""
        (etc / "ssh/throw_away_config").write_text(SSHD + line)

    def _enter(self) -> tuple[str, ...]:
        spaces = ("--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd")
        return ("nsenter", "--target", str(self._inside()), *spaces, "--")

    def _inside(self) -> int:
        """The process that is the first one in there."""
        if self._first is None:
            raise UnavailableError(f"{self.name} is not running")
        children = Path(f"/proc/{self._first.pid}/task/{self._first.pid}/children")
        try:
            return int(children.read_text().split()[0])
        except (OSError, IndexError):
            raise UnavailableError(f"{self.name} has ended: {self._said()}") from None

    def _await_ready(self) -> None:
        deadline = time.monotonic() + STARTS_WITHIN
        while True:
            with contextlib.suppress(UnavailableError):
                if Path(f"/proc/{self._inside()}/root/run/ready").exists():
                    return
            if self._first is None or self._first.poll() is not None:
                raise UnavailableError(f"{self.name} did not start: {self._said()}")
            if time.monotonic() > deadline:
                raise UnavailableError(f"{self.name} did not start in time: {self._said()}")
            time.sleep(0.01)

    def _said(self) -> str:
        log = self.folder / "first.log"
        return " / ".join(log.read_text(errors="replace").splitlines()[-3:]) or "it said nothing"

    def _serve(self, folder: Path) -> None:
        """Serve a folder of this machine inside the host's network."""
        server = (
            *("python3", "-m", "http.server", "8000", "--bind", _ARCHIVES_AT),
            *("--directory", str(folder)),
        )
        inside = ("nsenter", "--target", str(self._inside()), "--net", "--")
        self._archives = subprocess.Popen(
            ("setpriv", "--pdeathsig", "KILL", "--", *inside, *server),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        asks = f"until curl -sf -o /dev/null {ARCHIVES}; do sleep 0.05; done"
        if self.run(f"timeout 45 sh -c {shlex.quote(asks)}").returncode != 0:
            raise UnavailableError(f"{self.name}: its archives do not answer")

    def _let_in(self, listener: socket.socket) -> None:
        """Give each connection to a server of its own, which is inside."""
        withheld = WITHHELD if self.mounts else f"{WITHHELD},-sys_admin"
        words = (
            *self._enter(),
            *("setpriv", "--bounding-set", withheld, *self.prefix),
            *("/usr/sbin/sshd", "-i", "-f", "/etc/ssh/throw_away_config"),
        )
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            end = connection.fileno()
            with connection, (self.folder / "sshd.log").open("ab") as log:
                server = subprocess.Popen(words, stdin=end, stdout=end, stderr=log)
            self._sessions.append(server)
