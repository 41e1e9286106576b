"""From what a failure names and what the host answers to causes; and in how many round trips."""

import re
from collections.abc import Mapping

import pytest

from shared.domain.attempt import CommandResult, Outcome
from shared.domain.cause import Cause, CauseKind, describe_cause
from shared.domain.errors import Transient
from tests.unit.passes.given import ScriptedJudge, attempt, ended
from workers.evidence.answers import listeners
from workers.evidence.causes import Failure, failures
from workers.evidence.observation import ORDINARY, Observation, observe
from workers.shells.investigation import investigate
from workers.shells.ports import Call
from workers.shells.snapshot import PROBES

ROOT = "uid=0(root) gid=0(root) groups=0(root)"
SHOP = "uid=33(shop) gid=33(shop) groups=33(shop),44(media)"
JOB_FAILED = (
    "Job for site.service failed because the control process exited with error code.\n"
    'See "systemctl status site.service" and "journalctl -xeu site.service" for details.\n'
)
LISTENING = 'tcp LISTEN 0 5 0.0.0.0:8080 0.0.0.0:* users:(("python3",pid=61,fd=3))'
OF_LEGACY = (
    "0::/system.slice/legacy.service\nroot python3\nlrwx /proc/61/exe -> /usr/bin/python3.11"
)


def state(**properties: str) -> str:
    given = {"LoadState": "loaded", "ActiveState": "failed", "Result": "exit-code"} | properties
    return "\n".join(f"{name}={value}" for name, value in given.items())


def entry(said: str, who: str = "python3[9]") -> str:
    return f"Nov 22 15:05:02 web1 {who}: {said}"


def stat(path: str, mode: str = "drwxr-xr-x", owner: str = "root root", link: str = "") -> str:
    arrow = f" -> '{link}'" if link else ""
    return f"{mode} {owner} 4096 1000 '{path}'{arrow}"


def journal_of(*lines: str) -> str:
    old = entry("Started site.service.", "systemd[1]"), entry("OSError: Read-only file system")
    begun = entry("Starting site.service...", "systemd[1]")
    ended_ = entry("site.service: Failed with result 'exit-code'.", "systemd[1]")
    return "\n".join((*old, begun, *lines, ended_))


IN_USE = journal_of(entry("Traceback"), entry("OSError: [Errno 98] Address already in use"))
SITE = {
    "unit site.service": state(
        ExecMainStatus="1",
        ExecStart="{ path=/usr/bin/python3 ; argv[]=/usr/bin/python3 -m http.server 8080 ; x }",
    )
}

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


def test_the_causes_of_subtasks_come_before_those_of_the_host() -> None:
    answers = {
        "identity": ROOT,
        "rights": stat("/"),
        "room": "/dev/sdb1 100 100 0 100% /srv",
        "disk": "/dev/sdb1 20G 20G 0 100% /srv\n/dev/sdc1 1G 1G 0 100% /boot",
    }
    seen = observe([Failure(1, ("cp a /srv/b",), "cp: '/srv/b': No space left")], answers)
    assert [(c.kind, c.subject, c.subtask) for c in seen.causes] == [
        (CauseKind.DISK_FULL, "/srv", 1),
        (CauseKind.DISK_FULL, "/boot", 0),
    ]


def test_the_failures_are_the_subtasks_that_never_succeeded() -> None:
    tried = (
        attempt(1, Outcome.FAILED, result=ended("a", 1, "no")),
        attempt(1, Outcome.OK, number=2, result=ended("a")),
        attempt(2, command="b", result=ended("b", 1, "x: Permission denied")),
    )
    assert failures(tried) == (Failure(2, ("b",), "x: Permission denied\n"),)


class Answering:
    """A shell that answers each question of a script by its name, and nothing to the others."""

    def __init__(self, *rounds: Mapping[str, str], lost_after: int = 9) -> None:
        self.rounds = rounds
        self.asked: list[list[str]] = []
        self.lost_after = lost_after

    def run(self, call: Call, **_: object) -> CommandResult:
        if len(self.asked) >= self.lost_after:
            raise Transient("the connection was lost", stage="connect")
        names = re.findall(r"^echo '?replan-probe:([^';]+)'?;", call.command, re.MULTILINE)
        known = self.rounds[len(self.asked)] if len(self.asked) < len(self.rounds) else {}
        self.asked.append(names)
        printed = "".join(f"replan-probe:{n}\n{known.get(n, '')}\n" for n in names)
        return ended(stdout=printed)


FIRST = {
    "identity": ROOT,
    "ports": LISTENING,
    **SITE,
    "journal of site.service": IN_USE,
}
START = [Failure(1, ("systemctl start site",), JOB_FAILED)]


def look(shell: Answering, asked: list[Failure]) -> Observation:
    return investigate(shell, ScriptedJudge(), asked)  # type: ignore[arg-type]


def test_what_a_journal_names_is_asked_about_in_a_second_round_and_in_no_third() -> None:
    shell = Answering(FIRST, {"process 61": OF_LEGACY})
    seen = look(shell, START)
    first, second = shell.asked
    assert {*PROBES, "unit site.service", "journal of site.service"} == set(first)
    assert "process 61" in second
    assert not set(PROBES) & set(second)
    assert seen.causes[0] == Cause(CauseKind.PORT_HELD, "8080", 1, "legacy.service", pid=61)


def test_a_failure_that_names_nothing_costs_one_round_trip() -> None:
    shell = Answering({"identity": ROOT})
    assert look(shell, [Failure(1, ("false",), "")]).causes == ()
    assert len(shell.asked) == 1


def test_a_connection_that_is_lost_at_the_second_round_leaves_the_first() -> None:
    seen = look(Answering(FIRST, lost_after=1), START)
    assert [c.kind for c in seen.causes] == [CauseKind.PORT_HELD, CauseKind.UNIT_FAILED]
    assert seen.causes[0].by == "python3"


def test_arguments_of_a_unit_are_read_and_never_shown() -> None:
    secret = "--password=hunter2"
    argv = f"{{ path=/srv/run ; argv[]=/srv/run {secret} --port 8080 ; x }}"
    first = FIRST | {"unit site.service": state(ExecStart=argv)}
    seen = look(Answering(first, {}), START)
    assert seen.causes[0].subject == "8080"
    assert "ExecStart=/srv/run" in seen.snapshot["unit site.service"]
    assert "hunter2" not in str(seen)


def test_what_is_ordinary_is_one_line() -> None:
    answers = {
        "identity": ROOT,
        "os": "Linux web1 6.1 x\nPRETTY_NAME=D\nID=debian\nHOME_URL=x",
        "platform": "/usr/bin/apt-get\nls: cannot access '/run/openrc': No such file",
        "memory": "MemTotal: 1000 kB\nMemAvailable: 900 kB\n" + "Slab: 1 kB\n" * 40,
        "load": "0.10 0.1 0.1 1/9 9\n2",
        "disk": "/dev/sda1 20G 4G 16G 20% /",
        "processes": "PID PPID STAT ELAPSED %CPU %MEM COMMAND\n1 0 Ss 1 0.0 0.1 init",
        "network_errors": "eth0: 1 2 0 9 0 0 0 0 1 2 0 0 0 0 0 0",
        "names": "nameserver 192.0.2.1",
        "packages": "",
        "unit site.service": state(ActiveState="active"),
        "locks": "1: POSIX ADVISORY WRITE",
    }
    seen = observe([Failure(1, ("systemctl reload site",), "")], answers)
    assert seen.causes == ()
    assert set(seen.snapshot) == {"os", "platform", "identity", ORDINARY}
    assert seen.snapshot["os"] == "Linux web1 6.1 x\nPRETTY_NAME=D\nID=debian"
    assert seen.snapshot["platform"] == "/usr/bin/apt-get"
    assert seen.snapshot[ORDINARY] == (
        "memory (90 % left), load 0.1 on 2 CPUs, disk space (at most 20 % used, at /), processes, "
        "network errors, name servers, packages, site.service"
    )


@pytest.mark.parametrize(
    ("probe", "text", "kind", "kept"),
    [
        ("memory", "MemTotal: 1000 kB\nMemAvailable: 20 kB", CauseKind.MEMORY_LOW, "MemAvailable"),
        (
            "memory",
            "MemTotal: 100 kB\nMemAvailable: 50 kB\nSwapTotal: 10 kB\nSwapFree: 2 kB",
            None,
            "SwapFree: 2 kB",
        ),
        ("load", "40.0 1 1 1/9 9\n2", CauseKind.LOAD_HIGH, "load 40 on 2 CPUs"),
        ("disk", "/dev/sda1 20G 19G 1G 92% /", None, "92 % of 20G"),
        ("disk", "/dev/sda1 20G 20G 0 100% /", CauseKind.DISK_FULL, "100 % of 20G"),
        ("inodes", "/dev/sda1 20 20 0 100% /", CauseKind.INODES_FULL, "100 % of 20"),
        ("processes", "PID\n7 1 D 1 0.0 0.1 nfsd\n8 1 S 1 0.0 0.1 sh", None, "nfsd"),
        ("failed_services", "a.service loaded failed failed A", None, "a.service"),
        ("network_errors", "eth0: 1 2 7 9 0 0 0 0 1 2 0 0 0 0 0 0", None, "eth0: 7 errors"),
        ("names", "# empty", None, "# empty"),
        ("packages", "nginx\thold", None, "hold"),
    ],
)
def test_what_deviates_is_kept(probe: str, text: str, kind: CauseKind | None, kept: str) -> None:
    seen = observe([], {"identity": ROOT, probe: text})
    assert kept in seen.snapshot[probe]
    assert [cause.kind for cause in seen.causes] == ([] if kind is None else [kind])


@pytest.mark.parametrize(
    ("off", "told"), [(0.0, ""), (59, ""), (-90, "90 s behind"), (4000, "4000 s ahead")]
)
def test_a_clock_that_is_wrong(off: float, told: str) -> None:
    causes = observe([], {"clock": "1000"}, clock_off=off).causes
    assert [cause.measure for cause in causes] == ([told] if told else [])
