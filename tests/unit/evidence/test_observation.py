"""What is kept of a host's state, and in how many round trips it is asked for."""

import re
from collections.abc import Mapping

import pytest

from shared.domain.attempt import CommandResult
from shared.domain.cause import Cause, CauseKind
from shared.domain.errors import Transient
from tests.unit.evidence.given import (
    IN_USE,
    JOB_FAILED,
    LISTENING,
    OF_LEGACY,
    ROOT,
    SITE,
    stat,
    state,
)
from tests.unit.passes.given import ScriptedJudge, ended
from workers.evidence.causes import Failure
from workers.evidence.observation import NO_JOURNAL, ORDINARY, Observation, observe
from workers.shells.investigation import investigate
from workers.shells.ports import Call
from workers.shells.snapshot import PROBES


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


def test_a_journal_that_may_not_be_read_is_told_from_one_that_says_nothing_of_it() -> None:
    seen = look(Answering({"identity": ROOT, **SITE, "journal of site.service": ""}), START)
    assert seen.snapshot["journal of site.service"] == NO_JOURNAL


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
        "processes": "PID PPID STAT TIME %CPU %MEM COMMAND\n1 0 Ss 1 0.0 0.1 init\n9 1 Z 1 0 0 sh",
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
