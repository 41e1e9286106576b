"""From the facts of a host to what the operator should know about it."""

from collections.abc import Mapping

import pytest

from shared.domain.errors import Misconfigured
from shared.domain.host import LOCALHOST, Host
from shared.domain.next_step import command_line
from workers.shells.remote.fitness import notices
from workers.shells.remote.runner import Runner

WEB = Host(name="web1", address="10.0.0.5", user="deploy", key_path="/a key")
GOOD = {
    "user": "deploy",
    "home": "/home/deploy",
    "proc": "yes",
    "setsid": "yes",
    "records": "/home/deploy/.replan/jobs",
    "records_fs": "ext4",
    "records_kb": "250000",
    "records_cap_kb": "250000",
    "home_free_kb": "1000000",
    "clock_off": "0",
    "sessions": "2",
}
IN_MEMORY = {"records": "/dev/shm/replan-1000", "records_fs": "tmpfs"}
WIPED = {"uid": "1000", "logout_empties_shm": "yes", "login_scope": "yes"}
KILLS = {"logout_kills": "yes", "login_scope": "yes"}


def told(facts: Mapping[str, str], *without: str) -> list[str]:
    """The sentences about a good host with some facts changed; none of them stops a command."""
    known = {name: value for name, value in {**GOOD, **facts}.items() if name not in without}
    found = notices(WEB, known)
    assert not any(problem.blocking for problem in found)
    assert all(command_line(problem.next_step) for problem in found)
    return [problem.reason for problem in found]


@pytest.mark.parametrize(
    ("facts", "without", "words"),
    [
        ({}, "setsid", ["no setsid", "install util-linux or busybox"]),
        ({}, "proc", ["/proc cannot be read", "end with their worker"]),
        ({"sudo_drops": "yes"}, "", ["Defaults env_keep"]),
        (
            {**IN_MEMORY, "home_refuses": "No space left on device"},
            "",
            ["written (No space left on device)", "/dev/shm/replan-1000", "megabytes free"],
        ),
        (IN_MEMORY, "", ["it is a link, or another account's"]),
        ({"records_kb": "500000"}, "", ["take up 512 MB in /home/deploy", "the cap is 256 MB"]),
        ({"records_fs": "nfs"}, "", ["network file system (nfs,", "link to a folder"]),
        ({"records_fs": "nfs4"}, "", ["network file system (nfs4,"]),
        ({"records_fs": "cifs"}, "", ["network file system (cifs,"]),
        ({"records_fs": "fuse.sshfs"}, "", ["network file system (fuse.sshfs,"]),
        ({"clock_off": "86400"}, "", ["24 hours ahead of ours", "set-ntp true"]),
        ({"clock_off": "-172800"}, "", ["2 days behind ours"]),
        ({"clock_off": "61"}, "", ["61 seconds ahead of ours"]),
        ({"clock_off": "-600"}, "", ["10 minutes behind ours"]),
        ({"sessions": "1"}, "", ["MaxSessions 1", "set MaxSessions 10"]),
        (KILLS, "", ["KillUserProcesses=yes", "KillExcludeUsers=root deploy"]),
        ({**KILLS, "logout_kills": "1"}, "", ["KillUserProcesses=yes"]),
        ({**KILLS, "logout_spares": "root ci"}, "", ["KillExcludeUsers=root ci deploy"]),
        ({**KILLS, "logout_kills_only": "ci deploy"}, "", ["KillUserProcesses=yes"]),
    ],
)
def test_each_is_told_alone_with_what_was_found_and_what_to_do(
    facts: Mapping[str, str], without: str, words: list[str]
) -> None:
    """One sentence for one thing."""
    (sentence,) = told(facts, without)
    assert all(word in sentence for word in words), sentence


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"clock_off": "60"},
        {"clock_off": "-60"},
        {"sessions": "0x"},
        {"records_fs": "tmpfs"},
        WIPED,
        {"records_fs": ""},
        {"home_free_kb": "0"},
        {"logout_kills": "yes"},
        {"login_scope": "yes"},
        {**KILLS, "logout_kills": "no"},
        {**KILLS, "logout_spares": "root deploy"},
        {**KILLS, "logout_kills_only": "ci"},
        {**KILLS, "user": "root"},
    ],
)
def test_nothing_is_told_of_a_host_that_is_well(facts: Mapping[str, str]) -> None:
    """Nor of one where it makes no difference."""
    assert told(facts) == []


@pytest.mark.parametrize(
    "unknown", ["records", "records_fs", "clock_off", "sessions", "user", "home"]
)
def test_what_is_not_known_is_not_held_against_it(unknown: str) -> None:
    """Hosts differ in what they can tell."""
    assert told({}, unknown) == []


@pytest.mark.parametrize(
    ("facts", "without", "wiped"),
    [
        (WIPED, "", True),
        ({**WIPED, "uid": "999"}, "", False),
        ({**WIPED, "linger": "yes"}, "", False),
        ({**WIPED, "logout_empties_shm": "no"}, "", False),
        (WIPED, "login_scope", False),
        (WIPED, "logout_empties_shm", False),
    ],
)
def test_records_in_memory_that_a_logout_removes(
    facts: Mapping[str, str], without: str, wiped: bool
) -> None:
    """Beside the notice that they lie there; not of system accounts, nor of those that linger."""
    sentences = told({**IN_MEMORY, **facts}, without)
    assert len(sentences) == 1 + wiped
    assert ("loginctl enable-linger deploy" in sentences[-1]) == wiped


def test_the_next_step_can_be_typed_here() -> None:
    """On this machine it is the command itself."""
    facts = {"proc": "yes"}
    (there,) = notices(WEB, facts)
    (here,) = notices(LOCALHOST, facts)
    assert (
        command_line(there.next_step) == "ssh -i '/a key' -p 22 deploy@10.0.0.5 'command -v setsid'"
    )
    assert command_line(here.next_step) == "command -v setsid"


class WithoutProc:
    """A way to a host that answers the text of a runner as one without /proc does."""

    noise = b""

    def __init__(self) -> None:
        self._nonce = b""

    def send(self, data: bytes) -> None:
        """Notes the nonce of the frames."""
        self._nonce = data.split(b"\nN=", 1)[1].split(b" ", 1)[0]

    def receive(self, seconds: float) -> bytes:  # noqa: ARG002
        """The answer."""
        return b"@@%s bad proc\n" % self._nonce

    def moves(self) -> bool:
        """Nothing lies between."""
        return True

    def beside(self) -> "WithoutProc":
        """Another one."""
        return WithoutProc()

    def close(self) -> None:
        """Nothing to close."""


def test_without_proc_no_command_runs_over_ssh() -> None:
    """It cannot be made here: the runner's own word for it is played back."""
    with pytest.raises(Misconfigured, match=r"web1 .*has no /proc.*mount it") as caught:
        Runner(WithoutProc(), WEB)
    assert caught.value.next_step
