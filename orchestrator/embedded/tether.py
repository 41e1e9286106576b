"""Run a program that dies with its parent, and not as root where it refuses to be.

Executed as a script, `tether.py [options] -- program argument…`: it prepares this process and
then becomes the program (exec), so that the program is a direct child of whoever started it.
Standard library only, because it runs without site-packages for the sake of its start-up time.
"""

import argparse
import ctypes
import os
import signal
import struct
import sys

NOBODY = 65534

PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CLONE_NEWUSER = 0x10000000
CAPABILITY_VERSION_3 = 0x20080522
CAP_DAC_OVERRIDE = 1


def main(arguments: list[str]) -> None:
    """Become the program; returns only by an exception."""
    options = parse_options(arguments)
    plain_signals()
    if options.unprivileged and os.geteuid() == 0:
        become_unprivileged(options.owned)
    # Last, because a change of user makes the kernel forget the death signal.
    if options.watch_fd is None:
        die_with_parent(options.signal, options.parent)
    else:
        watch_parent(options.watch_fd, options.begun_fd, options.signal)
    if options.begun_fd is not None:
        os.set_inheritable(options.begun_fd, False)
    os.execvp(options.program[0], options.program)  # noqa: S606 - it becomes the program, on purpose


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """The options of this script."""
    parser = argparse.ArgumentParser(prog="tether", description=__doc__)
    parser.add_argument("--signal", type=int, required=True, help="sent when the parent dies")
    parser.add_argument("--parent", type=int, required=True, help="process id of the parent")
    parser.add_argument("--begun-fd", type=int, help="closed when the program begins")
    parser.add_argument("--watch-fd", type=int, help="a pipe that closes when the parent dies")
    parser.add_argument("--unprivileged", action="store_true", help="as root: do not stay root")
    parser.add_argument("--owned", help="a folder that must belong to the user of the program")
    parser.add_argument("program", nargs="+")
    return parser.parse_args(arguments)


_FIXED = {signal.SIGKILL, signal.SIGSTOP}


def plain_signals() -> None:
    """Undo what Python and the parent changed: exec hands ignored and blocked signals down."""
    for number in signal.valid_signals():
        if signal.getsignal(number) is not signal.SIG_DFL and number not in _FIXED:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def die_with_parent(death_signal: int, parent: int) -> None:
    """Ask the kernel for `death_signal` at the parent's end; leave if it has ended already."""
    prctl(PR_SET_PDEATHSIG, death_signal)
    if os.getppid() != parent:
        sys.exit("tether: the parent died before the program started")


def watch_parent(pipe: int, begun: int | None, death_signal: int) -> None:
    """Where the kernel offers no death signal: leave a process behind that watches the pipe.

    The parent holds the other end. End of file means that it died; a byte means that the
    program has ended and there is nobody left to signal.
    """
    program = os.getpid()
    os.set_inheritable(pipe, False)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    if begun is not None:
        os.close(begun)
    os.setsid()
    if os.fork():
        os._exit(0)
    if os.read(pipe, 1) == b"":
        os.kill(program, death_signal)
    os._exit(0)


def become_unprivileged(owned: str | None) -> None:
    """Stop being root: in a user namespace of its own, or as `nobody` where those are blocked."""
    if sys.platform == "linux" and in_own_namespace(owned):
        return
    if owned is not None:
        give(owned, NOBODY)
    if sys.platform == "linux":
        prctl(PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    if sys.platform == "linux":
        keep_access_to_files()


def in_own_namespace(owned: str | None) -> bool:
    """Enter a user namespace in which root's files belong to us and we are `nobody`.

    Nothing on the machine changes: no account is made, no folder is opened to others.
    """
    if owned is not None:
        give(owned, 0)
    group = os.getgid()
    if libc().unshare(CLONE_NEWUSER) != 0:
        return False
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{NOBODY} 0 1"),
        ("gid_map", f"{NOBODY} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    return True


def keep_access_to_files() -> None:
    """Keep the one capability that lets `nobody` reach a data folder inside root's home."""
    header = struct.pack("Ii", CAPABILITY_VERSION_3, 0)
    kept = 1 << CAP_DAC_OVERRIDE
    sets = struct.pack("6I", kept, kept, kept, 0, 0, 0)
    if libc().capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset: " + os.strerror(ctypes.get_errno()))
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE)


def give(folder: str, user: int) -> None:
    """Make `folder` and all in it belong to `user`, unless it does."""
    if os.stat(folder).st_uid == user:
        return
    for parent, _, names in os.walk(folder):
        for path in (parent, *(os.path.join(parent, name) for name in names)):
            os.chown(path, user, user, follow_symlinks=False)


def prctl(*arguments: int) -> None:
    """Ask the kernel for something about this process; raises OSError."""
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[1:5]]
    if libc().prctl(arguments[0], *padded) != 0:
        raise OSError(ctypes.get_errno(), "prctl: " + os.strerror(ctypes.get_errno()))


def libc() -> ctypes.CDLL:
    """The C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as failure:
        sys.exit(f"tether: {' '.join(sys.argv[sys.argv.index('--') + 1 :])}: {failure}")
