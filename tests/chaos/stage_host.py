"""A host of the stage: a real SSH server, reached over a link that can fail."""

import subprocess
from dataclasses import dataclass

from shared.domain.host import Host
from tests.services.processes import descendants, kill
from tests.services.proxy import Proxy
from tests.services.sshd import SshServer


@dataclass(frozen=True, slots=True)
class StageHost:
    """The server and the proxy before it."""

    name: str
    server: SshServer
    link: Proxy

    def as_seen(self) -> Host:
        """What the product knows of it."""
        return Host(
            name=self.name,
            address=self.server.host,
            port=self.link.port,
            user=self.server.user,
            key_path=str(self.server.key_path),
            host_key=self.server.host_public_key,
        )

    def sessions(self) -> list[int]:
        """The server's processes that serve a connection each; none while it is down.

        Not what they have forked to become a command: that is still called sshd for a moment.
        """
        listener = self.server.pid
        if listener is None:
            return []
        serving = descendants(listener, deep=False)
        serving += [each for pid, _ in serving for each in descendants(pid, deep=False)]
        return [pid for pid, name in serving if name.startswith("sshd")]

    def mount(self, *words: str) -> bool:
        """Whether a mount went well that only this server and its commands see."""
        return self.as_root("mount", *words)

    def as_root(self, *words: str) -> bool:
        """Whether a command went well in the mounts that only this server and its commands see."""
        listener = self.server.pid
        if listener is None or not self.server.account.prefix:
            return False
        space = f"--mount=/proc/{listener}/ns/mnt"
        done = subprocess.run(
            ("nsenter", space, "--", *words), capture_output=True, check=False, timeout=10
        )
        return done.returncode == 0

    def end_session(self, pid: int) -> None:
        """Kill such a process; what it has started goes on, as after a lost connection."""
        kill([pid])
