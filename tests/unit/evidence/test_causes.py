"""From what a failure names and what the host answers to causes."""

import pytest

from shared.domain.cause import describe_cause
from shared.domain.outcome import Outcome
from tests.unit.evidence.given import (
    IN_USE,
    JOB_FAILED,
    LISTENING,
    OF_LEGACY,
    ROOT,
    SHOP,
    SITE,
    entry,
    journal_of,
    stat,
    state,
)
from tests.unit.passes.given import attempt, ended
from workers.evidence.answers import listeners
from workers.evidence.causes import Failure, failures
from workers.evidence.observation import observe

CASES: list[tuple[str, str, str, dict[str, str], list[str]]] = [
    (
        "a port is held by another unit; only the journal tells",
        "systemctl start site",
        JOB_FAILED,
        {**SITE, "journal of site.service": IN_USE, "ports": LISTENING, "process 61": OF_LEGACY},
        [
            "port 8080 is held by legacy.service (process 61)",
            (
                "the unit site.service has failed (exit-code, 1): "
                "OSError: [Errno 98] Address already in use"
            ),
        ],
    ),
    (
        "the same words for another cause: the program of the unit is not there",
        "systemctl start site",
        JOB_FAILED,
        {
            "unit site.service": state(
                ExecMainStatus="203",
                ExecStart="{ path=/srv/site/rum ; argv[]=/srv/site/rum --port 8080 ; x }",
            ),
            "journal of site.service": journal_of(
                entry(
                    "site.service: Failed to locate executable /srv/site/rum: "
                    "No such file or directory",
                    "systemd[1]",
                )
            ),
            "ports": LISTENING,
            "rights": "\n".join((stat("/"), stat("/srv"), stat("/srv/site"))),
        },
        [
            "/srv/site/rum does not exist",
            (
                "the unit site.service has failed (exit-code, 203): site.service: "
                "Failed to locate executable /srv/site/rum: No such file or directory"
            ),
        ],
    ),
    (
        "a unit that nobody knows, one that is masked, one that never ran",
        "systemctl start a b c",
        "",
        {
            "unit a.service": state(LoadState="not-found", ActiveState="inactive"),
            "unit b.service": state(LoadState="masked", ActiveState="inactive"),
            "unit c.service": state(ActiveState="inactive"),
        },
        [
            "systemd does not know the unit a.service",
            "the unit b.service is masked",
            "the unit c.service does not run",
        ],
    ),
    (
        "a unit that systemd starts again and again, and one that is still starting",
        "systemctl start a b",
        "",
        {
            "unit a.service": state(ActiveState="activating", SubState="auto-restart"),
            "unit b.service": state(ActiveState="activating", SubState="start", Result="success"),
        },
        [
            "the unit a.service has failed (exit-code)",
            "the unit b.service does not run (activating)",
        ],
    ),
    (
        "a unit that is to be stopped may well not run",
        "systemctl stop c",
        "",
        {"unit c.service": state(ActiveState="inactive")},
        [],
    ),
    (
        "nothing listens",
        "curl -fsS http://127.0.0.1:9999/",
        "curl: (7) Failed to connect to 127.0.0.1 port 9999: Connection refused",
        {"ports": LISTENING},
        ["nothing listens on port 9999"],
    ),
    (
        "a port that a healthy service holds is no cause",
        "curl -fsS http://127.0.0.1:8080/",
        "curl: (22) The requested URL returned error: 503",
        {"ports": LISTENING},
        [],
    ),
    (
        "a folder above keeps an account out",
        "runuser -u shop -- cat /srv/app/data/x",
        "cat: /srv/app/data/x: Permission denied",
        {
            "account shop": f"shop:x:33:33::/:/bin/sh\nexit=0\n{SHOP}",
            "rights": "\n".join(
                (stat("/"), stat("/srv"), stat("/srv/app", "drwx------"), stat("/srv/app/data"))
            ),
        },
        ["the rights of /srv/app bar access to /srv/app/data/x for shop (drwx------ root root)"],
    ),
    (
        "root is let in everywhere",
        "cat /srv/app/x",
        "cat: /srv/app/x: Permission denied",
        {"rights": "\n".join((stat("/"), stat("/srv"), stat("/srv/app", "d---------")))},
        [],
    ),
    (
        "a file that nobody may change",
        "echo x > /etc/resolv.conf",
        "cannot create /etc/resolv.conf: Operation not permitted",
        {
            "rights": "\n".join((stat("/"), stat("/etc"), stat("/etc/resolv.conf", "-rw-r--r--"))),
            "attributes": "--------------e------- /etc\n----i---------e------- /etc/resolv.conf",
        },
        ["/etc/resolv.conf has the attribute that nobody may change it (chattr +i)"],
    ),
    (
        "a group lets in",
        "runuser -u shop -- touch /srv/m/x",
        "touch: cannot touch '/srv/m/x': Permission denied",
        {
            "account shop": f"exit=0\n{SHOP}",
            "rights": "\n".join(
                (stat("/"), stat("/srv"), stat("/srv/m", "drwxrws---", "root media"))
            ),
        },
        [],
    ),
    (
        "a script that nobody may execute, not even root",
        "/srv/run.sh",
        "sh: 1: /srv/run.sh: Permission denied",
        {"rights": "\n".join((stat("/"), stat("/srv"), stat("/srv/run.sh", "-rw-r--r--")))},
        ["the rights of /srv/run.sh bar access to it for root (-rw-r--r-- root root)"],
    ),
    (
        "a folder on the way is missing",
        "cp /srv/a /srv/x/y/z",
        "cp: cannot create regular file '/srv/x/y/z': No such file or directory",
        {"rights": "\n".join((stat("/"), stat("/srv"), stat("/srv/a", "-rw-r--r--")))},
        ["/srv/x/y/z does not exist, because there is no /srv/x"],
    ),
    (
        "a link leads nowhere",
        "cat /srv/current/x",
        "cat: /srv/current/x: No such file or directory",
        {
            "rights": "\n".join(
                (stat("/"), stat("/srv"), stat("/srv/current", "lrwxrwxrwx", link="releases/7"))
            )
        },
        ["/srv/current is a link to /srv/releases/7, which does not exist"],
    ),
    (
        "the disk is full",
        "cp /srv/a /srv/b",
        "cp: error writing '/srv/b': No space left on device",
        {
            "rights": stat("/"),
            "room": "/dev/sda1 100 90 10 90% /\n/dev/sdb1 100 100 0 100% /srv",
        },
        ["the file system at /srv is full (100 % used)"],
    ),
    (
        "it has room, but no inodes",
        "touch /srv/b",
        "touch: cannot touch '/srv/b': No space left on device",
        {
            "rights": stat("/"),
            "room": "/dev/sda1 100 50 50 50% /",
            "inode_room": "/dev/sda1 40 40 0 100% /",
        },
        ["the file system at / has no inodes left (100 % used)"],
    ),
    (
        "read-only",
        "touch /srv/b",
        "touch: cannot touch '/srv/b': Read-only file system",
        {"rights": stat("/"), "mounts": "a / ext4 rw 0 0\nb /srv ext4 ro,noatime 0 0"},
        ["the file system at /srv is mounted read-only"],
    ),
    (
        "nothing is executed from there",
        "/srv/run.sh",
        "sh: 1: /srv/run.sh: Permission denied",
        {
            "rights": "\n".join((stat("/"), stat("/srv"), stat("/srv/run.sh", "-rwxr-xr-x"))),
            "mounts": "b /srv tmpfs rw,noexec 0 0",
        },
        ["/srv/run.sh lies on /srv, which is mounted noexec"],
    ),
    (
        "a held package",
        "apt-get install -y nginx",
        "E: Held packages were changed and -y was used without --allow-change-held-packages.",
        {
            "package nginx": (
                "nginx:\n  Installed: 1.22\n  Candidate: 1.24\nheld:\nnginx\n"
                "status:\ninstall ok installed"
            )
        },
        ["the package nginx is held (1.22)"],
    ),
    (
        "a package that nobody offers",
        "apt-get install -y foo",
        "E: Unable to locate package foo",
        {"package foo": "held:\nstatus:\ndpkg-query: no packages found matching foo"},
        ["no repository of the host offers the package foo"],
    ),
    (
        "a package that is half installed",
        "apt-get install -y nginx",
        "dpkg: error processing package nginx (--configure):",
        {"package nginx": "nginx:\n  Candidate: 1\nheld:\nstatus:\ninstall ok half-configured"},
        ["the package nginx is not completely installed (install ok half-configured)"],
    ),
    (
        "names that do not exist",
        "chown shop:www /srv/x; curl http://db.internal/",
        "chown: invalid user: 'shop:www'",
        {"account shop": "exit=2", "group www": "exit=2", "host db.internal": "exit=2"},
        [
            "the host cannot resolve the name db.internal",
            "the account shop does not exist",
            "the group www does not exist",
        ],
    ),
    (
        "a name server that does not answer is not a name that does not exist",
        "curl http://db.internal/",
        "",
        {"host db.internal": "exit=124"},
        [],
    ),
    (
        "the log that a message names",
        "/opt/setup",
        "failed, see /var/log/setup.log for details",
        {"log /var/log/setup.log": "step 1\nERROR: Cannot allocate memory\nexiting"},
        ["the log /var/log/setup.log says: ERROR: Cannot allocate memory"],
    ),
    (
        "an account is in use",
        "usermod --home /srv/shop shop",
        "usermod: user shop is currently used by process 61",
        {"process 61": OF_LEGACY},
        ["the account shop is in use by legacy.service (process 61)"],
    ),
    (
        "a lock is held",
        "apt-get install -y tree",
        "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 61 (apt)",
        {"process 61": "0::/system.slice/apt-daily.service"},
        ["/var/lib/dpkg/lock-frontend is held by apt-daily.service (process 61)"],
    ),
]


@pytest.mark.parametrize(
    ("command", "output", "answers", "words"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_what_is_wrong(
    command: str, output: str, answers: dict[str, str], words: list[str]
) -> None:
    seen = observe([Failure(2, (command,), output)], {"identity": ROOT} | answers)
    assert [describe_cause(cause) for cause in seen.causes] == words
    assert {cause.subtask for cause in seen.causes} <= {2}


@pytest.mark.parametrize(
    "text",
    [
        LISTENING,
        "tcp        0      0 0.0.0.0:8080      0.0.0.0:*      LISTEN      61/python3",
        (
            "  sl  local_address rem_address   st\n"
            "   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 0000 0 0 777 1\n"
            "/proc/1/fd:\n/proc/61/fd:\nlrwx------ 1 root root 64 Nov 22 15:05 3 -> socket:[777]"
        ),
    ],
    ids=["ss", "netstat", "kernel"],
)
def test_who_listens(text: str) -> None:
    assert [(each.port, each.pid) for each in listeners(text)] == [(8080, 61)]


def test_the_failures_are_the_subtasks_that_never_succeeded() -> None:
    tried = (
        attempt(1, Outcome.FAILED, result=ended("a", 1, "no")),
        attempt(1, Outcome.OK, number=2, result=ended("a")),
        attempt(2, command="b", result=ended("b", 1, "x: Permission denied")),
    )
    assert failures(tried) == (Failure(2, ("b",), "x: Permission denied\n"),)
