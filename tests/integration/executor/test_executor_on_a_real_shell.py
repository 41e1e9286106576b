"""Passes on a real shell: commands that really fail, corrections that really help."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shared.domain.attempt import CommandResult
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.outcome import Outcome
from shared.domain.plan import SubtaskKind
from shared.guard import Guard, load_site
from tests.integration.executor.conftest import Carry, NarrowShell
from tests.unit.passes.given import MemoryLog, order, subtask
from workers.evidence.failed_assumptions import failed_assumptions
from workers.evidence.hypotheses import hypotheses
from workers.shells.corrections.table import TESTED
from workers.shells.ports import Call
from workers.shells.snapshot import PROBES, take

# --- corrections that really help -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "made"),
    [
        ("echo x > new/sub/file", "new/sub/file"),
        ("touch new/file", "new/file"),
        ("mkdir new/sub/folder", "new/sub/folder"),
        ("cp here new/copy", "new/copy"),
        ("cp here new/", "new/here"),
        ("mv here new/moved", "new/moved"),
        ("ln -s here new/link", "new/link"),
        ("cat here | tee new/tee", "new/tee"),
        ("tar -xf archive.tar -C new/place", "new/place/packed"),
    ],
)
def test_a_missing_folder_is_made(
    shell: NarrowShell, carry: Carry, command: str, made: str
) -> None:
    """What this system's own programs say about a missing folder is understood."""
    (shell.folder / "here").write_text("x")
    (shell.folder / "packed").write_text("x")
    shell.inner.run(Call(f"cd {shell.folder} && tar -cf archive.tar packed", 10))
    given = subtask(command, check=f"test -e {made} || test -L {made}")
    done = carry(order(given))
    assert [(a.outcome, a.correction) for a in done.log.ended] == [
        (Outcome.FAILED, None),
        (Outcome.OK, "make_parent_folder"),
    ]
    made_there = shell.folder / made
    assert made_there.exists() or made_there.is_symlink()


def test_a_path_that_is_nearly_right_is_read(shell: NarrowShell, carry: Carry) -> None:
    """The nearest existing path, found by looking."""
    (shell.folder / "configuration").mkdir()
    (shell.folder / "configuration" / "app.conf").write_text("port = 80\n")
    done = carry(order(f"cat {shell.folder}/configuraton/app.conf"))
    assert [a.outcome for a in done.log.ended] == [Outcome.FAILED, Outcome.OK]
    result = done.log.ended[1].result
    assert result is not None
    assert result.streams[0] == b"port = 80\n"


def test_what_removes_is_not_pointed_at_something_else(shell: NarrowShell, carry: Carry) -> None:
    """The near name stays."""
    (shell.folder / "backups").mkdir()
    done = carry(order(f"rm -r {shell.folder}/backup"))
    assert [a.outcome for a in done.log.ended] == [Outcome.FAILED]
    assert (shell.folder / "backups").is_dir()


def test_a_program_goes_by_its_other_name(shell: NarrowShell, carry: Carry) -> None:
    """`python` is absent, `python3` is there."""
    shell.has("python3", 'echo "three $*"')
    done = carry(order("python --version"))
    assert [(a.outcome, a.correction) for a in done.log.ended] == [
        (Outcome.FAILED, None),
        (Outcome.OK, "program_other_name"),
    ]


def test_a_program_is_found_beyond_the_path(carry: Carry) -> None:
    """/usr/sbin is not in the PATH of an ordinary account."""
    done = carry(order("ldconfig --version"))
    assert [(a.outcome, a.correction) for a in done.log.ended] == [
        (Outcome.FAILED, None),
        (Outcome.OK, "program_full_path"),
    ]


def test_another_shells_syntax_runs_in_that_shell(shell: NarrowShell, carry: Carry) -> None:
    """What dash says about bash is understood."""
    (shell.programs / "bash").symlink_to("/bin/bash")
    for command in (
        "[[ -d / ]] && echo yes",
        "a=(1 2); echo ${a[1]}",
        "set -o pipefail; true",
        "echo ${PATH//:/ }",
    ):
        done = carry(order(command))
        assert done.log.ended[-1].outcome is Outcome.OK, done.log.ended
        assert done.log.ended[-1].correction == "run_in_bash"


def test_an_approved_command_is_not_approved_in_other_words(
    shell: NarrowShell, carry: Carry
) -> None:
    """A correction that a person would have to see, too, is left out: nobody was asked about it."""
    (shell.programs / "bash").symlink_to("/bin/bash")
    done = carry(order("source /dev/null && echo ${PATH//:/ }"))
    assert [a.outcome for a in done.log.ended] == [Outcome.FAILED, Outcome.NEEDS_APPROVAL]
    assert done.log.ended[1].correction is not None
    assert done.result.ending is Ending.INCOMPLETE


def test_a_service_that_was_only_enabled_is_restarted(shell: NarrowShell, carry: Carry) -> None:
    """S0.41, on a host whose systemctl keeps its state in files."""
    shell.has(
        "systemctl",
        "case $1 in is-active) test -e up;; restart) : > up;; enable|cat|reset-failed) :;;"
        " *) exit 1;; esac",
    )
    given = subtask("systemctl enable app", check="systemctl is-active app")
    done = carry(order(given), settle=(0.1,))
    assert [(a.outcome, a.correction) for a in done.log.ended] == [
        (Outcome.CHECK_FAILED, None),
        (Outcome.OK, "restart_service"),
    ]


def test_a_held_lock_is_waited_for_without_an_error(shell: NarrowShell, carry: Carry) -> None:
    """The lists' lock, free at the third call."""
    shell.has(
        "apt-get",
        "echo x >> calls\n"
        "test $(grep -c x calls) -ge 3 && exit 0\n"
        'echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (x)" >&2\n'
        "exit 100",
    )
    done = carry(order("apt-get update"))
    assert [(a.outcome, a.correction) for a in done.log.ended] == [(Outcome.OK, "dpkg_lock")]
    assert done.result.errors == 0
    assert shell.commands.count("apt-get update") == 3


@contextmanager
def flaky_server(failures: int) -> Iterator[str]:
    """Answers 503 that many times, then 200; its address."""
    left = [failures]

    class Answering(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            left[0] -= 1
            self.send_response(503 if left[0] >= 0 else 200)
            self.end_headers()
            self.wfile.write(b"done")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/x"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("program", ["curl -fsS", "wget -O-"])
def test_a_server_that_is_down_for_a_moment(shell: NarrowShell, carry: Carry, program: str) -> None:
    """The downloader is let try again by itself, with options that this system's version has."""
    name = program.split(maxsplit=1)[0]
    (shell.programs / name).symlink_to(f"/usr/bin/{name}")
    with flaky_server(failures=2) as address:
        done = carry(order(f"{program} {address}"))
    assert [(a.outcome, a.correction) for a in done.log.ended] == [
        (Outcome.FAILED, None),
        (Outcome.OK, "retry_download"),
    ]


# --- checks, timeouts, cancelling, code -----------------------------------------------------------


def test_a_service_that_needs_a_moment_gets_it(shell: NarrowShell, carry: Carry) -> None:
    """Red right after exit code 0, green a moment later."""
    started = subtask("{ sleep 0.5; touch up; } > /dev/null 2>&1 &", check="test -e up")
    done = carry(order(started))
    assert [a.outcome for a in done.log.ended] == [Outcome.OK]
    assert shell.commands.count("test -e up") > 2


def test_what_is_so_already_does_not_run_again(shell: NarrowShell, carry: Carry) -> None:
    """A plan carried out twice: the second pass satisfies what has a check."""
    given = order(subtask("touch made; echo x >> log", check="test -e made"))
    assert carry(given).log.ended[0].outcome is Outcome.OK
    assert carry(given).log.ended[0].outcome is Outcome.SATISFIED
    assert (shell.folder / "log").read_text() == "x\n"


def test_a_command_is_ended_at_its_timeout(carry: Carry) -> None:
    """It counts as an error, with what it had printed until then."""
    done = carry(order(subtask("echo begun; sleep 60", timeout=0.5)))
    (attempt,) = done.log.ended
    assert attempt.outcome is Outcome.TIMED_OUT
    assert attempt.result is not None
    assert attempt.result.streams[0] == b"begun\n"
    assert done.result.errors == 1


def test_a_cancelled_pass_ends_the_running_command(shell: NarrowShell, carry: Carry) -> None:
    """As soon as the log says so."""
    log = MemoryLog(stop=lambda log: bool(log.outputs))
    done = carry(order("echo begun; sleep 60; touch late", "touch later"), log=log)
    assert done.result.ending is Ending.CANCELLED
    assert [a.outcome for a in done.log.ended] == [Outcome.CANCELLED]
    assert list(shell.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("snippet", "outcome", "printed"),
    [
        ('result = {"success": True, "n": 1}', Outcome.OK, b'{"success": true, "n": 1}\n'),
        ('result = {"success": False}', Outcome.FAILED, b'{"success": false}\n'),
        (
            'result = {"success": True, "result": {"success": False}}',
            Outcome.FAILED,
            b'{"success": true, "result": {"success": false}}\n',
        ),
        ('result = [1, "it\'s"]', Outcome.OK, b'[1, "it\'s"]\n'),
        ("x = 1", Outcome.FAILED, b""),
        ("1 / 0", Outcome.FAILED, b""),
    ],
)
def test_a_snippet_is_judged_by_its_inner_success(
    shell: NarrowShell, carry: Carry, snippet: str, outcome: Outcome, printed: bytes
) -> None:
    """S1.25–S1.26, S1.45."""
    (shell.programs / "python3").symlink_to("/usr/bin/python3")
    done = carry(order(subtask(snippet, kind=SubtaskKind.CODE)))
    (attempt,) = done.log.ended
    assert (attempt.outcome, attempt.result and attempt.result.streams[0]) == (outcome, printed)


# --- the guard ------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["command", "check", "precondition"])
def test_the_real_guard_stops_a_forbidden_string(
    shell: NarrowShell, carry: Carry, where: str
) -> None:
    """S0.61: nothing of it reaches the shell, and the step ends blocked."""
    forbidden = "rm -rf /"
    parts = {"command": "touch x", "check": "test -e x", "precondition": "true"} | {
        where: forbidden
    }
    given = subtask(parts["command"], check=parts["check"], preconditions=(parts["precondition"],))
    done = carry(order(given, "touch y"))
    assert done.result.ending is Ending.BLOCKED
    assert forbidden not in shell.commands
    assert list(shell.folder.iterdir()) == []


def test_the_real_guard_lets_every_probe_of_the_snapshot_through(shell: NarrowShell) -> None:
    """S0.50: one round trip on this very machine; what every Linux has is there."""
    state = take(shell.inner, Guard(load_site(None).for_host()))
    assert set(state) == set(PROBES)
    assert "MemTotal" in state["memory"]
    assert "uid=" in state["identity"]
    assert all(len(text) <= 4000 for text in state.values())


# --- the worked scenario --------------------------------------------------------------------------

APT = """
case "$*" in
  update) echo "All packages are up to date."; exit 0;;
  "install -y postgresql-13") test -e pgdg.list && touch installed && exit 0;;
esac
for package; do :; done
echo "E: Unable to locate package $package" >&2
exit 100
"""
SYSTEMCTL = """
test -e installed && exit 0
echo "Failed to $1 unit: Unit file $2.service does not exist." >&2
exit 1
"""


def test_the_worked_scenario_from_failure_to_success(shell: NarrowShell, carry: Carry) -> None:
    """S0.89–S0.93 with real processes: four errors, the evidence, the revised plan, success."""
    shell.has("apt", APT)
    shell.has("systemctl", SYSTEMCTL)
    shell.has("apt-cache", 'echo "postgresql-13 - The World\'s Most Advanced Database"')
    first = carry(
        order(
            subtask("apt update", "A"),
            subtask("apt install postgresql", "B", needs=("A",)),
            subtask("systemctl enable postgresql", "C", needs=()),
            subtask("systemctl start postgresql", "D", needs=("C",)),
            policy=Policy(),
        )
    )
    assert first.result.ending is Ending.THRESHOLD
    assert first.result.errors == 4
    assert [
        (a.subtask, isinstance(a.result, CommandResult) and a.result.exit_code)
        for a in first.log.ended
    ] == [
        (1, 0),
        (2, 100),
        (2, 100),
        (2, 100),
        (3, 1),
    ]
    assert any("apt update" in said for said in hypotheses(first.log.ended, TESTED))
    assert any("absent" in said for said in failed_assumptions(first.log.ended))

    revised = carry(
        order(
            "echo deb https://apt.postgresql.org/pub bookworm-pgdg main > pgdg.list",
            "apt update",
            "apt install -y postgresql-13",
            "systemctl enable postgresql",
            "systemctl start postgresql",
            revision=1,
            pass_no=2,
            earlier=first.log.ended,
        )
    )
    assert revised.result.ending is Ending.DONE
    assert revised.result.errors == 0
