"""Looks in the containment of a real kernel: hostile ones do nothing, honest ones see it all."""

import base64
import hashlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import yaml

from shared.domain.containment import Containment, Hidden
from shared.domain.host import LOCALHOST
from shared.guard import Guard, load_site, looks
from shared.guard.contained_looks import ContainedLooks
from tests.services.availability import needs_root
from tests.services.ring import eventually
from workers.shells.ports import Call, Shell
from workers.shells.remote.connections import HostConnections

CASES = Path(__file__).parents[2] / "cases" / "looks"
CANARY = "canary-7f3a9c51d2"
SECONDS = 4.0


@dataclass
class Outside:
    """What lies outside of the containment, and what has reached it."""

    root: Path
    process: subprocess.Popen[bytes]
    listener: socket.socket
    stream: socket.socket
    datagrams: socket.socket
    arrived: list[str] = field(default_factory=list)

    @property
    def folders(self) -> list[Path]:
        """Folders with a file each."""
        return [self.root / name for name in ("work", "home/data", "shared")]

    @property
    def secrets(self) -> list[Path]:
        """Files that hold a secret."""
        home = self.root / "home"
        return [
            home / ".ssh" / "id_ed25519",
            home / "a/b/c/d/e/server.key",
            self.root / "work" / ".env",
            home / ".aws/credentials",
        ]

    def state(self) -> dict[str, tuple[object, ...]]:
        """Everything that a look might change."""
        found: dict[str, tuple[object, ...]] = {}
        for path in [self.root, *sorted(self.root.rglob("*"))]:
            told = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            digest = hashlib.sha256(content).hexdigest()
            times = () if ".replan" in path.parts else (told.st_mtime_ns, told.st_size, digest)
            if ".replan" not in path.parts:
                found[str(path)] = (told.st_mode, told.st_uid, told.st_nlink, *times)
        proc = Path(f"/proc/{self.process.pid}")
        stat = (proc / "stat").read_text().rpartition(")")[2].split()
        found["process"] = (
            stat[0] in "SR",
            stat[16],  # its nice value
            (proc / "oom_score_adj").read_text(),
            (proc / "comm").read_text(),
            os.sched_getaffinity(self.process.pid),
        )
        found["host"] = (socket.gethostname(), Path("/").stat().st_mode)
        return found


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """A home, folders, secrets, a process, and listeners."""
    root = tmp_path_factory.mktemp("outside")
    for name in ("work", "home/data", "shared", "home/.ssh", "home/.aws", "home/a/b/c/d/e"):
        (root / name).mkdir(parents=True)
        (root / name / "file").write_text("as it was\n")
    process = subprocess.Popen(["sleep", "600"], env={"TOKEN": CANARY})
    listener, stream = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)
    stream.bind(str(root / "stream"))
    stream.listen()
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagrams.bind(str(root / "datagrams"))
    world = Outside(root, process, listener, stream, datagrams)
    for secret in world.secrets:
        secret.write_text(f"{CANARY}\n")
    for one in (listener, stream):
        threading.Thread(target=_count, args=(one, world), daemon=True).start()
    yield world
    process.kill()
    process.wait()
    for one in (listener, stream, datagrams):
        one.close()


def _count(listening: socket.socket, world: Outside) -> None:
    while True:
        try:
            accepted, _ = listening.accept()
        except OSError:
            return
        world.arrived.append(str(listening.getsockname()))
        accepted.close()


@pytest.fixture(scope="module")
def contained(outside: Outside) -> Iterator[Shell]:
    """A shell whose looks are contained, and start where everything is."""
    with closing(HostConnections()) as connections:
        shell = connections.shell(replace(LOCALHOST, workdir=str(outside.root)))
        made = shell.containment(_looks().hidden)
        assert made.is_there, made
        yield shell


def _looks() -> ContainedLooks:
    return ContainedLooks(Guard(load_site(None).for_host()), Guard(looks()))


def hostile(outside: Outside) -> Iterator[str]:
    """Every hostile look, against every target of its kind."""
    rows: dict[str, list[str]] = yaml.safe_load((CASES / "hostile.yaml").read_text())
    given = {
        "pid": outside.process.pid,
        "port": outside.listener.getsockname()[1],
        "socket": outside.root / "stream",
        "listing": outside.root / "datagrams",
    }
    for kind, commands in rows.items():
        for command in commands:
            match kind:
                case "files":
                    for folder in outside.folders:
                        yield command.format(file=folder / "file", folder=folder, **given)
                case "secrets":
                    for secret in outside.secrets:
                        yield command.format(secret=secret, **given)
                case _:
                    yield command.format(**given)


def test_hostile_looks_change_nothing_and_see_no_secret(outside: Outside, contained: Shell) -> None:
    """At least 400 of them, one after another, in one containment."""
    before = outside.state()
    shown = _forms(CANARY)
    seen: list[str] = []
    commands = list(hostile(outside))
    for command in commands:
        result = contained.run(Call(command, SECONDS, contained=True))
        if any(form in result.stdout + result.stderr for form in shown):
            seen.append(command)
    assert len(commands) >= 400
    assert seen == []
    assert outside.arrived == []
    outside.datagrams.setblocking(False)
    with pytest.raises(BlockingIOError):
        outside.datagrams.recv(1)
    assert outside.process.poll() is None
    after = outside.state()
    assert {
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    } == set()


def _forms(value: str) -> tuple[bytes, ...]:
    raw = value.encode()
    return (raw, raw[::-1], base64.b64encode(raw)[:12], raw.hex().encode())


def test_what_lies_where_no_rule_lets_anybody_read_is_hidden(contained: Shell) -> None:
    """Whatever its name: a look that says its place runs outside, where the rules decide."""
    listed = {"dpkg", "apt", "systemd", "rpm", "pacman", "gems", "ca-certificates"}
    listed |= {"alternatives", "dbus", "logrotate"}
    hidden = [
        place
        for place in Path("/var/lib").iterdir()
        if place.name not in listed and os.access(place, os.R_OK) and place.is_dir()
    ]
    full = [place for place in hidden if any(place.iterdir())]
    seen = contained.run(Call(f"ls -A {' '.join(map(str, full))}", 60, contained=True))
    assert full
    assert [line for line in seen.stdout.split(b"\n") if line and not line.endswith(b":")] == []
    packages = contained.run(Call("ls /var/lib/dpkg", 60, contained=True))
    assert b"status" in packages.stdout
    judging = _looks()
    for text in ("ls /var/lib/postgresql", "du -xsh /", "find /var -size +1G", "ls /mnt/*"):
        verdict = Guard(load_site(None).for_host()).judge(text)
        assert not judging.is_contained(text, verdict, Containment), text


def test_what_a_look_leaves_running_ends_with_it(contained: Shell) -> None:
    """Also what has a session of its own."""
    left = f"sleep 987.{os.getpid()}"  # other runs of this test may be at work beside it
    contained.run(Call(f"(setsid {left} &) ; ({left} &)", 60, contained=True))
    contained.run(Call("true; :", 60, contained=True))
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, check=True).stdout
    assert left.encode() not in running


@pytest.mark.parametrize(
    "filling",
    [
        "head -c 200000000 /dev/zero > /dev/shm/fill",
        "mkdir -p /dev/shm/.a/b && head -c 200000000 /dev/zero > /dev/shm/.a/b/fill"
        " || chmod 0 /dev/shm/.a/b /dev/shm/.a",
        "ln -s /nowhere /dev/shm/..link; head -c 200000000 /dev/zero > $TMPDIR/-fill",
    ],
    ids=["filled", "closed", "dots"],
)
def test_a_look_that_fills_its_scratch_is_heard_and_leaves_none(
    contained: Shell, filling: str
) -> None:
    """What it prints after that is told, and the next look has its own scratch."""
    told = contained.run(Call(f"{filling}; echo heard", 60, contained=True))
    assert told.stdout == b"heard\n"
    again = contained.run(
        Call("ls -A /dev/shm; echo x > $TMPDIR/x && cat $TMPDIR/x", 60, contained=True)
    )
    assert (again.stdout, again.exit_code) == (b"x\n", 0)


def test_a_look_that_answers_for_its_containment_ends_with_it(contained: Shell) -> None:
    """It finds the pipe of the answers open in the first process, and then waits for ever."""
    mark = f": 985.{os.getpid()}"
    look = f"{mark}; for f in /proc/[0-9]*/fd/*; do echo x >> $f; done; sleep 600"
    told = contained.run(Call(look, 60, contained=True))
    assert (told.exit_code, told.stdout) == (137, b"")
    assert contained.run(Call("echo next", 60, contained=True)).stdout == b"next\n"

    def ended() -> bool:
        running = subprocess.run(["ps", "-eo", "args"], capture_output=True, check=True).stdout
        return mark.encode() not in running

    eventually(ended, "the end of the look")


def test_a_look_that_takes_too_long_ends_and_the_next_one_runs(contained: Shell) -> None:
    """Whatever it has done to its environment."""
    slow = contained.run(Call("exec env -i sleep 60", 1, contained=True))
    again = contained.run(Call("echo again", 60, contained=True))
    assert slow.timed_out
    assert again.stdout == b"again\n"


@pytest.mark.parametrize(
    "command",
    ["cp {from_} {to}", "sleep 2.1; cat {from_} > {to}", "mv {from_}.moving {to}"],
    ids=["copied", "slow", "moved"],
)
def test_a_secret_that_a_command_has_made_is_hidden_from_the_next_look(
    outside: Outside, contained: Shell, command: str
) -> None:
    """The containment was there before the secret."""
    place = outside.root / "work"
    (place / "plain.moving").write_text(CANARY)
    (place / "plain").write_text(CANARY)
    contained.run(Call("cat /etc/hostname", 60, contained=True))
    made = contained.run(Call(command.format(from_=place / "plain", to=place / "api.key"), 20))
    seen = contained.run(Call(f"cat {place}/api.key", 60, contained=True))
    for name in ("plain", "plain.moving", "api.key"):
        (place / name).unlink(missing_ok=True)
    assert made.ok
    assert (seen.exit_code, CANARY.encode() in seen.stdout) == (1, False)


def test_a_look_that_ends_the_containment_is_no_answer(contained: Shell) -> None:
    """It is made again, and the look runs again."""
    marks = contained.run(Call("kill -9 $PPID 2>/dev/null; echo still here", 60, contained=True))
    assert marks.stdout == b"still here\n"


HONEST: list[str] = yaml.safe_load((CASES / "honest.yaml").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What honest looks look at."""
    place = tmp_path_factory.mktemp("app")
    files = {
        "app.json": '{"port": 8080, "debug": false, "workers": 4}\n',
        "app.conf": "# settings\nhost=localhost\nport=8080\n",
        "data.csv": "name,n\na,1\nb,2\n",
        "app.log": "INFO start\nERROR disk full\nINFO stop\n",
        "unit.service": "[Unit]\nDescription=x\n[Service]\nExecStart=/usr/bin/true\n",
        "notes.txt": "alpha\nbeta\n",
        "vars.sh": "PORT=8080\n",
        "look.sh": f"grep -c ERROR '{place}/app.log'\n",
        "count.awk": "/ERROR/ { n++ } END { print n }\n",
        "port.sed": "s/^port=//p\n",
        "app.js": "let x = 1;\n",
    }
    for name, text in files.items():
        (place / name).write_text(text)
    return place


def _text(row: str, folder: Path) -> str:
    return row.replace("{f}", str(folder)).replace("{{", "{").replace("}}", "}")


def test_honest_looks_are_asked_about_by_the_rules(folder: Path) -> None:
    """Otherwise they say nothing about the containment; contained, they are allowed."""
    judging = _looks()
    guard = Guard(load_site(None).for_host())
    texts = [
        text.replace("{f}", str(folder)).replace("{{", "{").replace("}}", "}") for text in HONEST
    ]
    assert sum(not guard.judge(text).allowed for text in texts) >= 150
    assert [text for text in texts if not judging.verdict(text).allowed] == []


def test_honest_looks_see_what_they_see_outside(folder: Path, contained: Shell) -> None:
    """The same exit code and output, contained and not."""
    commands = [_text(row, folder) for row in HONEST]
    inside = [contained.run(Call(each, 20, contained=True)) for each in commands]
    outside = [contained.run(Call(each, 20)) for each in commands]
    different = [
        (one.command, one.stdout, one.stderr, other.stdout)
        for one, other in zip(inside, outside, strict=True)
        if (one.exit_code, one.stdout) != (other.exit_code, other.stdout)
    ]
    assert different == []


def test_nothing_runs_contained_without_a_containment() -> None:
    """A contained call never runs outside instead."""
    with closing(HostConnections()) as connections:
        shell = connections.shell(LOCALHOST)
        shell.containment(Hidden())
        marked = shell.run(Call("cat /proc/self/mountinfo", 60, contained=True))
        options = [line.split()[5] for line in marked.stdout.decode().splitlines()]
        assert sum("rw" in each.split(",") for each in options) < len(options) // 2


def test_no_program_gains_rights_in_a_look(contained: Shell) -> None:
    """Where `setpriv` is there, the kernel says so itself."""
    told = contained.run(Call("grep NoNewPrivs /proc/self/status", 60, contained=True))
    assert told.stdout.split() == [b"NoNewPrivs:", b"1"]


@needs_root
def test_root_reads_what_belongs_to_other_accounts(contained: Shell, tmp_path: Path) -> None:
    """As it does outside: `du /var/cache/apt` meets a folder that only its account may open."""
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o700)
    (theirs / "file").write_text("theirs\n")
    (theirs / "file").chmod(0o600)
    for path in (theirs / "file", theirs):
        os.chown(path, 4242, 4242)
    look = f"cat {theirs}/file && setpriv --reuid 4242 --clear-groups id -u"
    told = contained.run(Call(look, 60, contained=True))
    assert (told.stdout, told.exit_code) == (b"theirs\n4242\n", 0), told.stderr


_BELOW = """
import subprocess, sys
from contextlib import closing
from shared.domain.containment import Hidden
from shared.domain.host import LOCALHOST
from workers.shells.ports import Call
from workers.shells.remote.connections import HostConnections
place = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "none", f"{place}/merged"], check=True)
with closing(HostConnections()) as connections:
    shell = connections.shell(LOCALHOST)
    print(shell.containment(Hidden(places=(place,))))
    look = f"ls {place}; true >{place}/merged/file; true >{place}/file; echo seen"
    print(shell.run(Call(look, 60, contained=True)).stdout.decode())
print(subprocess.run(["ls", f"{place}/merged"], capture_output=True, text=True).stdout)
"""


@needs_root
def test_what_is_mounted_below_a_hidden_place_is_out_of_reach(tmp_path: Path) -> None:
    """As every running container's file system is, below `/var/lib/docker`."""
    (tmp_path / "hidden" / "merged").mkdir(parents=True)
    told = tmp_path / "told"  # no pipe: a runner that is still ending would hold it open
    with told.open("wb") as output:
        subprocess.run(
            ["unshare", "--mount", sys.executable, "-c", _BELOW, str(tmp_path / "hidden")],
            stdout=output,
            stderr=subprocess.STDOUT,
            check=True,
            cwd=Path(__file__).parents[3],
        )
    assert "missing=None" in told.read_text(), told.read_text()
    assert told.read_text().endswith("\nseen\n\n\n"), told.read_text()
