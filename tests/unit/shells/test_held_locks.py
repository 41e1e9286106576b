"""A command waits for a lock only if the message says that another process holds it."""

import pytest

from tests.unit.passes.given import ScriptedProbe
from workers.shells.corrections.correction import FailedCommand
from workers.shells.corrections.held_locks import somebody_holds
from workers.shells.corrections.table import CORRECTIONS, HELD, choose

HELD_BY_SOMEBODY = (
    "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 42 (unattended-upgr)",
    "E: Could not get lock /var/lib/dpkg/lock - open (11: Resource temporarily unavailable)",
    "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), "
    "is another process using it?",
    "Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. "
    "It is held by process 7 (apt)",
    "dpkg: error: dpkg frontend lock was locked by another process with pid 4242",
    "dpkg: error: dpkg status database is locked by another process",
    "Existing lock /var/run/yum.pid: another copy is running as pid 3810.",
    "Failed to obtain rpm transaction lock. Another transaction is in progress.",
    "error: can't create transaction lock on /var/lib/rpm/.rpm.lock "
    "(Resource temporarily unavailable)",
    "System management is locked by the application with pid 1234 (zypper).",
    "ERROR: Unable to lock database: Resource temporarily unavailable",
)
HELD_BY_NOBODY = (
    "E: Could not open lock file /var/lib/apt/lists/lock - open (13: Permission denied)\n"
    "E: Unable to lock directory /var/lib/apt/lists/",
    "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)\n"
    "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?",
    "E: Could not open lock file /var/lib/apt/lists/lock - open (30: Read-only file system)\n"
    "E: Unable to lock directory /var/lib/apt/lists/",
    "E: Could not open lock file /var/cache/apt/archives/lock - open "
    "(28: No space left on device)\n"
    "E: Unable to lock the download directory",
    "E: Could not open lock file /var/lib/apt/lists/lock - open (2: No such file or directory)\n"
    "E: Unable to lock directory /var/lib/apt/lists/",
    "E: Could not get lock /var/lib/apt/lists/lock - open (1: Operation not permitted)\n"
    "E: Unable to lock the list directory",
    "E: Unable to lock directory /var/lib/apt/lists/",
    "dpkg: error: requested operation requires superuser privilege",
    "dpkg: error: unable to open/create dpkg frontend lock for directory /var/lib/dpkg: "
    "Permission denied",
    "error: can't create transaction lock on /var/lib/rpm/.rpm.lock (Permission denied)",
    "Error: This command has to be run with superuser privileges (under the root user).",
    "You need to be root to perform this command.",
    "Root privileges are required for installing or uninstalling packages.",
    "error: you cannot perform this operation unless you are root.",
    "error: failed to init transaction (unable to lock database)\n"
    "error: could not lock database: Permission denied",
    "error: failed to init transaction (unable to lock database)\n"
    "error: could not lock database: File exists",
    "ERROR: Unable to lock database: Permission denied",
    "flock: cannot open lock file /run/job.lock: Permission denied",
    "fatal: Unable to create '/srv/app/.git/index.lock': Permission denied",
    "fatal: Unable to create '/srv/app/.git/index.lock': No space left on device",
    "npm ERR! code EACCES\nnpm ERR! syscall open\nnpm ERR! path /usr/lib/node_modules/.lock",
    "ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: "
    "'/usr/lib/python3/dist-packages/x.lock'",
    "bash: fork: retry: Resource temporarily unavailable",
)
COMMANDS = ("apt update", "apt-get install -y nginx", "dpkg -i a.deb", "flock -n a.lock ./job")


@pytest.mark.parametrize("output", HELD_BY_SOMEBODY)
def test_a_message_that_names_a_holder_says_that_the_lock_is_held(output: str) -> None:
    """For every program whose messages we know."""
    assert somebody_holds(output)


@pytest.mark.parametrize("output", HELD_BY_NOBODY)
def test_a_matter_of_rights_or_room_is_no_held_lock(output: str) -> None:
    """No rule in the tables waits for it."""
    assert not somebody_holds(output)
    for command in COMMANDS:
        failure = FailedCommand(command, 100, stderr=output)
        for rules in (HELD, CORRECTIONS):
            found = choose(failure, ScriptedProbe({}), used=(), tried={command}, rules=rules)
            waits = found is not None and found[0].name in ("dpkg_lock", "wait_for_flock")
            assert not waits, command
