"""The ordinary user that logs in on the test's SSH servers, with a home in a scratch folder."""

import contextlib
import grp
import os
import pwd
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.services.availability import UnavailableError

NAME: Final = "replan-test"
FIRST_UID: Final = 40_000
UIDS: Final = 20_000

# Only what this shell and its children see is changed: the mounts are private to them.
WITH_PRIVATE_ACCOUNTS: Final = """\
set -e
accounts=$1
shift
for file in passwd group shadow; do
    mount --bind "$accounts/$file" "/etc/$file"
done
if [ ! -d /run/sshd ]; then
    mount -t tmpfs -o mode=755 tmpfs /run
    mkdir -m 755 /run/sshd
fi
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class Account:
    """Who logs in, and what a server needs so that it works.

    `prefix` are the words before the server's command; `environment` and `configuration` go into
    its sshd_config. `exclusive`: every process of this user was started by the tests.
    """

    name: str
    uid: int
    home: Path
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    configuration: tuple[str, ...] = ()
    exclusive: bool = False

    def launch(self, command: tuple[str, ...], _folder: Path) -> tuple[str, ...]:
        """The command that starts a server for this account."""
        return (*self.prefix, *command)


@contextlib.contextmanager
def account_for_tests(scratch: Path) -> Iterator[Account]:
    """The account for this run, its home below `scratch`.

    As an ordinary user it is that user. As root it is a user who exists only in the private
    mounts of the servers; where mounts are forbidden (a container), a real account is made and
    removed afterwards.
    """
    home = scratch / "home"
    home.mkdir()
    if os.geteuid() != 0:
        yield own_account(home)
        return
    uid = unused_uid()
    os.chown(home, uid, uid)
    home.chmod(0o700)
    if private_mounts_work():
        yield private_account(scratch, home, uid)
        return
    with real_account(home, uid) as account:
        yield account


def own_account(home: Path) -> Account:
    """The user who runs the tests, sent to another home."""
    me = pwd.getpwuid(os.geteuid())
    original = '"$SSH_ORIGINAL_COMMAND"'
    here = f"cd {shlex.quote(str(home))} && exec ${{SHELL:-/bin/sh}}"
    forced = f"if [ -n {original} ]; then {here} -c {original}; else {here} -l; fi"
    return Account(
        me.pw_name,
        me.pw_uid,
        home,
        environment={"HOME": str(home)},
        configuration=(f"ForceCommand {forced}",),
    )


def private_account(scratch: Path, home: Path, uid: int) -> Account:
    """A user in copies of the account files that only the servers see."""
    accounts = scratch / "accounts"
    accounts.mkdir()
    passwd, group, shadow = (
        Path("/etc", name).read_text() for name in ("passwd", "group", "shadow")
    )
    passwd += f"{NAME}:x:{uid}:{uid}::{home}:{shell()}\n"
    group += f"{NAME}:x:{uid}:\n"
    shadow += f"{NAME}:*:19000:0:99999:7:::\n"
    if not exists("sshd"):
        passwd += f"sshd:x:{uid + 1}:65534::/run/sshd:/usr/sbin/nologin\n"
    for name, text, mode in (
        ("passwd", passwd, 0o644),
        ("group", group, 0o644),
        ("shadow", shadow, 0o600),
    ):
        (accounts / name).write_text(text)
        (accounts / name).chmod(mode)
    prefix = ("unshare", "--mount", "--propagation", "private", "--", "sh", "-c")
    return Account(
        NAME,
        uid,
        home,
        prefix=(*prefix, WITH_PRIVATE_ACCOUNTS, "sh", str(accounts)),
        exclusive=True,
    )


@contextlib.contextmanager
def real_account(home: Path, uid: int) -> Iterator[Account]:
    """A real account for the time of the tests."""
    name = f"{NAME}{uid}"
    if not exists("sshd"):
        command("useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "sshd")
    Path("/run/sshd").mkdir(mode=0o755, parents=True, exist_ok=True)
    options = ("--no-create-home", "--home-dir", str(home), "--shell", shell())
    command("useradd", *options, "--uid", str(uid), "--user-group", "--password", "*", name)
    try:
        yield Account(name, uid, home, exclusive=True)
    finally:
        command("userdel", "--force", name)


def private_mounts_work() -> bool:
    """Whether this machine lets us bind a file over another in a mount namespace of our own."""
    probe = "mount --bind /etc/passwd /etc/passwd"
    words = ("unshare", "--mount", "--propagation", "private", "--", "sh", "-c", probe)
    try:
        return subprocess.run(words, capture_output=True, check=False, timeout=10).returncode == 0
    except FileNotFoundError:
        return False


def unused_uid() -> int:
    """A user id without an account or a process, likely different in runs at the same time."""
    start = os.getpid() % UIDS
    for offset in range(UIDS):
        uid = FIRST_UID + (start + offset) % UIDS
        if not has_account(uid) and not has_group(uid):
            return uid
    raise UnavailableError("every user id is taken")


def has_account(uid: int) -> bool:
    """Whether a user has this id."""
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def has_group(gid: int) -> bool:
    """Whether a group has this id."""
    try:
        grp.getgrgid(gid)
    except KeyError:
        return False
    return True


def exists(name: str) -> bool:
    """Whether there is a user of this name."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def shell() -> str:
    """The login shell of the account."""
    return next(path for path in ("/bin/bash", "/bin/sh") if Path(path).exists())


def command(*words: str) -> None:
    """Run a command; UnavailableError with its words if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise UnavailableError(f"{' '.join(words)}: {done.stderr.strip()}")
