"""Previews on a real kernel: what they show, what they say that they have not seen, what stays."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import pytest

from shared.domain.host import LOCALHOST
from shared.domain.preview import ChangeKind, Content, Preview, UnseenKind
from shared.guard import Guard, load_site
from shared.secrets.masking import Masker
from tests.services.availability import UnavailableError, give_up
from workers.roles.previews import reading_of
from workers.shells.ports import Shell
from workers.shells.preview import Wanted, preview
from workers.shells.remote.connections import HostConnections

CANARY = "canary " * 50


@dataclass
class Ground:
    """A folder with canaries, and what listens on this machine for whoever comes out."""

    folder: Path
    shell: Shell
    process: subprocess.Popen[bytes]
    port: int
    heard: list[str]

    @cached_property
    def guard(self) -> Guard:
        """The shipped policy."""
        return Guard(load_site(None).for_host(None))

    def preview(self, command: str, test: str = "") -> Preview:
        """What a command would change here, `DIR`, `PID` and `PORT` put in."""
        for name, value in (("DIR", self.folder), ("PID", self.process.pid), ("PORT", self.port)):
            command = command.replace(name, str(value))
            test = test.replace(name, str(value))
        found = preview(
            self.shell, Wanted(command, test), partial(reading_of, self.guard), Masker()
        )
        assert found.none is None, found.none
        return found

    def state(self) -> dict[str, tuple[object, ...]]:
        """Everything in the folder, and some settings of the machine."""
        settings = ("kernel/hostname", "kernel/core_pattern", "vm/swappiness")
        found: dict[str, tuple[object, ...]] = {
            each: (Path("/proc/sys", each).read_bytes(),) for each in settings
        }
        for path in sorted(self.folder.rglob("*")):
            is_ = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (is_.st_mode, is_.st_uid, is_.st_size, is_.st_mtime_ns, content)
        return found


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    """The folder, a process, a socket of each kind and a pipe to talk to."""
    folder = tmp_path / "ground"
    for name in ("file", "app.conf", "sub/deep/file"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(CANARY)
    (folder / "disk").write_bytes(bytes(1 << 20))
    heard: list[str] = []
    with ExitStack() as opened:
        path, abstract = (opened.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        network = opened.enter_context(socket.socket())
        path.bind(str(tmp_path / "s"))
        abstract.bind(f"\0replan-{folder}")
        network.bind(("127.0.0.1", 0))
        for each in (path, abstract, network):
            each.listen()
            opened.callback(each.shutdown, socket.SHUT_RDWR)
            threading.Thread(target=_hear, args=(each, heard), daemon=True).start()
        process = opened.enter_context(subprocess.Popen(["sleep", "600"]))
        opened.callback(process.kill)
        connections = opened.enter_context(closing(HostConnections()))
        shell = opened.enter_context(closing(connections.shell(LOCALHOST)))
        made = Ground(folder, shell, process, network.getsockname()[1], heard)
        told = preview(shell, Wanted("true"), partial(reading_of, made.guard), Masker())
        if told.none is not None:
            give_up(UnavailableError(f"this machine gives no previews: {told.none}"))
        yield made


def _hear(listening: socket.socket, heard: list[str]) -> None:
    try:
        while True:
            listening.accept()[0].close()
            heard.append(str(listening.getsockname()))
    except OSError:
        return


def test_an_edit_is_shown_as_a_diff_and_nothing_of_it_stays(ground: Ground) -> None:
    before = ground.state()
    found = ground.preview("sed -i 's/canary/bird/' DIR/app.conf && chmod 600 DIR/file")
    changes = {change.path: change for change in found.changes}
    edited = changes[f"{ground.folder}/app.conf"]
    assert (edited.kind, edited.content) == (ChangeKind.CHANGED, Content.SHOWN)
    assert f"\n-{CANARY}" in edited.diff
    assert f"\n+{CANARY.replace('canary', 'bird', 1)}" in edited.diff
    tightened = changes[f"{ground.folder}/file"]
    assert tightened.before is not None
    assert tightened.after is not None
    assert (tightened.before.mode, tightened.after.mode) == (0o644, 0o600)
    assert (len(changes), found.complete, found.exit_code) == (2, True, 0)
    assert ground.state() == before


def test_what_is_smuggled_into_an_edit_is_shown_too(ground: Ground) -> None:
    found = ground.preview(
        "sed -i 's/canary/bird/' DIR/app.conf; (sleep 0.2; echo key >> DIR/authorized_keys) & "
        'sh -c \'echo "* * * * * root x" > DIR/sub/cron; mv DIR/file DIR/sub/file;'
        " ln -s /etc/passwd DIR/link; rm -rf DIR/sub/deep'"
    )
    told = {
        change.path.removeprefix(f"{ground.folder}/"): change.kind.value for change in found.changes
    }
    assert told == {
        "app.conf": "changed",
        "authorized_keys": "created",
        "sub/cron": "created",
        "sub/file": "moved",
        "link": "created",
        "sub/deep": "deleted",
    }


def test_what_cannot_be_seen_is_named(ground: Ground) -> None:
    cases = {
        "systemctl restart nginx; curl http://127.0.0.1:PORT/": {
            UnseenKind.SERVICE,
            UnseenKind.NETWORK,
            UnseenKind.EXIT_CODE,
        },
        "kill PID; sysctl -w vm.swappiness=1; sleep 30 &": {
            UnseenKind.SIGNALS,
            UnseenKind.KERNEL,
            UnseenKind.BACKGROUND,
        },
        'apt-get --version; echo "$REPLAN_SECRET_X" > DIR/file; dd if=/dev/zero of=DIR/big': {
            UnseenKind.PACKAGES,
            UnseenKind.SECRETS,
            UnseenKind.SPACE,
            UnseenKind.EXIT_CODE,
        },
    }
    for command, kinds in cases.items():
        found = ground.preview(command)
        assert kinds <= {each.kind for each in found.unseen}, command
        assert not found.complete


def test_a_test_after_the_command_sees_what_it_changed(ground: Ground) -> None:
    edit = "sed -i 's/canary/bird/' DIR/app.conf"
    assert ground.preview(edit, "grep -q bird DIR/app.conf").exit_code == 0
    assert ground.preview(edit, "! grep -q bird DIR/app.conf").exit_code == 1


def test_content_that_may_be_private_is_not_shown(ground: Ground) -> None:
    (ground.folder / "file").chmod(0o600)
    (ground.folder / "id_rsa").write_text(CANARY)
    found = ground.preview("echo more >> DIR/file; cat DIR/id_rsa > DIR/copy")
    assert {change.content for change in found.changes} == {Content.WITHHELD}
    assert [change.diff for change in found.changes] == ["", ""]


HOSTILE = (
    # whatever the account may write, it may destroy
    """rm -rf DIR; find DIR -delete; dd if=/dev/zero of=DIR/file bs=1k count=3 conv=notrunc
    truncate -s 0 DIR/file; shred -u DIR/file; mkfs.ext4 -F -q DIR/disk; mv DIR/sub /tmp/
    chmod -R 000 DIR; chown -R 7:7 DIR; ln DIR/file DIR/hard && echo x >> DIR/hard
    cp /bin/sh DIR/shell && chmod 4755 DIR/shell; echo x > DIR/app.conf; fallocate -l 10G DIR/big
    rsync -a --delete /dev/null/ DIR/; tar -C DIR --remove-files -cf /tmp/t.tar .""",
    # the kernel, devices, mounts
    """dd if=/dev/zero of=/dev/vda bs=512 count=1; mknod DIR/node b 254 0 && echo x > DIR/node
    echo canary > /proc/sys/kernel/hostname; echo x > /proc/sys/kernel/core_pattern
    echo b > /proc/sysrq-trigger; sysctl -w vm.swappiness=1; hostname evil; reboot -f; poweroff -f
    mount -t tmpfs none /mnt; mount -o remount,rw /proc; umount -l /; mount --bind DIR /mnt
    unshare -Ur sh -c 'mount -t proc proc /proc; echo 7 > /proc/sys/vm/swappiness'
    unshare -Urm sh -c 'mount -o remount,rw,bind /proc; echo 7 > /proc/sys/vm/swappiness'
    modprobe dummy; swapoff -a; losetup -f DIR/disk; date -s 2001-01-01; ip link set lo down""",
    # the ways out: other roots, namespaces, descriptors
    """rm -rf /proc/1/root/DIR; echo x > /proc/1/root/DIR/file; cat /proc/1/environ && rm -r DIR
    for p in /proc/[0-9]*; do echo x > $p/root/DIR/file; rm -rf $p/cwd/*; done
    nsenter -t 1 -m rm -rf DIR; nsenter -t 1 -a sh -c 'rm -rf DIR'; chroot /proc/1/root rm -rf DIR
    nsenter --mount=/proc/1/ns/mnt rm -rf DIR; nsenter --net=/proc/1/ns/net true
    for f in /proc/self/fd/*; do (cd $f/.. && rm -rf ./*) ; done; rm -rf /sys/overlays /sys/new
    unshare -Ur chroot /tmp true; exec 9<>/sys/go; setpriv --bounding-set +all rm -rf DIR""",
    # the processes of the host, then those of the preview
    """kill -9 PID; kill -TERM PID; kill -9 1; pkill -9 -P 1; killall -9 sleep; renice -n 19 -p PID
    prlimit --pid PID --nofile=1; kill -STOP 1; sh -c 'kill -STOP -1'; nohup sleep 777 &
    setsid sleep 777 &
    sh -c 'kill -9 -1'""",
    # the sockets and pipes of the host
    """timeout 1 sh -c 'echo x > DIR/../pipe'
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("DIR/../s")'
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("\\0replan-DIR")'
    python3 -c 'import socket; socket.create_connection(("127.0.0.1", PORT))'
    curl -s http://127.0.0.1:PORT/; curl -s --unix-socket DIR/../s http://x/
    python3 -c 'import os; d = os.open("/", 0); os.chroot("/tmp"); os.fchdir(d); os.chdir("..")'""",
)


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_nothing_leaves_a_preview(ground: Ground, number: int) -> None:
    pipe = ground.folder.parent / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    before = ground.state()
    text = HOSTILE[number].replace("\\\\0", "\\0")
    ground.preview("\n".join(f"({line.strip()})" for line in text.splitlines()))
    assert ground.state() == before
    assert ground.process.poll() is None
    assert ground.heard == []
    assert os.read(reading, 10) == b""
    os.close(reading)
    left = subprocess.run(["ps", "axo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 777\n" not in left


def test_whoever_takes_everything_is_ended(ground: Ground) -> None:
    wanted = Wanted("f() { f & f; }; f")
    found = preview(ground.shell, wanted, partial(reading_of, ground.guard), Masker())
    assert not found.complete
    assert ground.process.poll() is None
