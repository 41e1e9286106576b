"""A host with everything that a contained agent must not reach, and what reaches it."""

import hashlib
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from shared.domain.containment import Networks
from workers.agents.containment.text import contained, place_of_workspace
from workers.roles.guards import Guards

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.com")
CANARY = "canary-5be1d0c47a"
ORDINARY = 54_321
NOWHERE = "http://127.0.0.1:9"


@dataclass
class Host:
    """An account with a repository, secrets, services and a process, and an agent's workspace."""

    root: Path
    uid: int
    process: subprocess.Popen[bytes]
    port: int
    arrived: list[str]

    @property
    def home(self) -> Path:
        """The home of the account."""
        return self.root / "account"

    @property
    def workspace(self) -> Path:
        """Where the agent works."""
        return self.root / "places/app/work/at.1.1/app"

    @property
    def agents_home(self) -> Path:
        """The folder of its attempt."""
        return self.root / "places/app/work/at.1.1/home/k1"

    def run(
        self,
        text: str,
        networks: Networks = Networks.ALL,
        gateway: str = NOWHERE,
        path: str = "",
    ) -> subprocess.CompletedProcess[str]:
        """Have an agent of the account do what the text says."""
        hidden = Guards(own=[self.root / "data"]).confinement("localhost").hidden
        place = replace(
            place_of_workspace(str(self.workspace), str(self.agents_home)),
            hidden=hidden,
            networks=networks,
            gateway=gateway,
        )
        program = f"cd {self.workspace} && exec sh -c {shlex.quote(text)}"
        command = contained(program, ["sh"], place)
        words = ["sh", "-c", command]
        if self.uid != os.geteuid():
            own = (f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups")
            words = ["setpriv", *own, *words]
        return subprocess.run(
            words,
            env={"HOME": str(self.home), "PATH": path or "/usr/local/bin:/usr/bin:/bin:/usr/sbin"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=120,
            check=False,
        )

    def state(self) -> Mapping[str, object]:
        """Everything that an agent might change, without what it works with."""
        found: dict[str, object] = {}
        for path in [self.root, *sorted(self.root.rglob("*"))]:
            if path.is_relative_to(self.workspace.parent):
                continue
            told = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (
                told.st_mode,
                told.st_uid,
                told.st_nlink,
                told.st_mtime_ns,
                hashlib.sha256(content).hexdigest(),
            )
        found["process"] = self.process.poll()
        found["core"] = Path("/proc/sys/kernel/core_pattern").read_text()
        found["hostname"] = socket.gethostname()
        found["/etc"] = sorted(Path("/etc").iterdir())
        return found


def accounts() -> list[int]:
    """This account; as root, an ordinary one, too."""
    return [0, ORDINARY] if os.geteuid() == 0 else [os.geteuid()]


@contextmanager
def host_with(uid: int) -> Iterator[Host]:
    """A host with everything that an agent of that account must not reach."""
    with ExitStack() as stack:
        # Not below /tmp, which an agent has for itself.
        place = "/srv" if os.access("/srv", os.W_OK) else Path.home()
        root = Path(tempfile.mkdtemp(prefix="replan-contained-", dir=place))
        stack.callback(shutil.rmtree, root)
        root.chmod(0o755)
        made = Host(root, uid, subprocess.Popen(["true"]), 0, [])
        made.process.wait()
        fill(made)
        environ = {"SECRET": CANARY, "PATH": os.environ["PATH"]}
        made.process = subprocess.Popen(["sleep", "1000"], env=environ, user=uid)
        stack.callback(made.process.wait)
        stack.callback(made.process.kill)
        made.port = listen(stack, made, socket.AF_INET, ("127.0.0.1", 0))
        listen(stack, made, socket.AF_UNIX, str(root / "account/service.sock"))
        listen(stack, made, socket.AF_UNIX, f"\0replan-{root.name}")
        if os.access("/run", os.W_OK):
            listen(stack, made, socket.AF_UNIX, f"/run/{root.name}.sock")
            stack.callback(Path(f"/run/{root.name}.sock").unlink)
        yield made


def fill(host: Host) -> None:
    """Write the files of the account."""
    for name, text in {
        "account/.ssh/id_ed25519": CANARY,
        "account/.aws/credentials": CANARY,
        "account/.bashrc": "true\n",
        "account/.replan/jobs/ab/log": CANARY,
        "account/src/app/app.py": "old\n",
        "data/gateway-key": CANARY,
        "places/other/ours.git/HEAD": CANARY,
        "places/other/work/at.2.2/other/file": CANARY,
        "places/app/work/at.9.9/app/file": CANARY,
        "places/app/ours.git/refs/replan/attempts/1": "sha\n",
        "places/app/ours.git/objects/info/packs": "shared\n",
        "places/app/work/at.1.1/app/app.py": "old\n",
        "places/app/work/at.1.1/app/.env.test": "OF_THE_PROJECT=1\n",
        "places/app/work/at.1.1/home/k1/temporary/task.md": "Do it.\n",
        "places/app/work/at.1.1/home/k2/session": CANARY,
    }.items():
        path = host.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for folder in (host.home / "src/app", host.workspace):
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
            subprocess.run([*GIT, *words], cwd=folder, check=True)
    for each in [host.root, *host.root.rglob("*")]:
        os.chown(each, host.uid, host.uid)


def listen(stack: ExitStack, host: Host, family: int, address: str | tuple[str, int]) -> int:
    """Note everybody who connects there; returns the port."""
    listener = stack.enter_context(socket.socket(family))
    listener.bind(address)
    listener.listen()
    if isinstance(address, str) and address.startswith("/"):
        Path(address).chmod(0o777)

    def accept() -> None:
        while True:
            try:
                listener.accept()[0].close()
            except OSError:
                return
            host.arrived.append(str(address))

    threading.Thread(target=accept, daemon=True).start()
    stack.callback(listener.shutdown, socket.SHUT_RDWR)
    return int(listener.getsockname()[1]) if family == socket.AF_INET else 0
