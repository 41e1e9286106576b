"""Reading a host's log of a pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.shells.records import Identity, State, nonce_of, read_log, stem_of
from workers.shells.remote.runner_text import call, flags
from workers.shells.remote.short_names import RunnerVerb

BEGUN = "@@aa i 100 2000 boot pid:[4] 101\n"


def started(key: str, number: int, command: str = "true", label: str = "") -> str:
    return f"{label}\n{command}\n@@aa s {key} {number} 900 -\n"


def test_a_log_names_its_runner_and_its_nonce() -> None:
    log = read_log("/f", "aa", BEGUN.encode())
    assert log.runner == Identity(100, 2000, "boot", "pid:[4]", 101)
    assert nonce_of(BEGUN.encode()) == "aa"
    assert nonce_of(b"") == ""
    assert log.open is None


def test_a_start_without_an_end_is_open() -> None:
    text = BEGUN + started("k1", 1) + "@@aa e k1 3\n" + started("k2", 1, "sleep 9", "why")
    log = read_log("/f", "aa", text.encode())
    assert log.open is not None
    assert (log.open.key, log.open.command, log.open.label) == ("k2", "sleep 9", "why")
    assert (log.records["k1"].state, log.records["k1"].exit_code) == (State.ENDED, 3)


def test_only_the_last_command_of_a_pair_of_files_can_have_written_to_it() -> None:
    text = BEGUN + "".join(
        started(key, number) + f"@@aa e {key} 0\n"
        for key, number in (("k1", 1), ("look1", 1), ("k2", 1), ("k3", 2))
    )
    log = read_log("/f", "aa", text.encode())
    assert [log.records[key].number for key in ("k1", "look1", "k2", "k3")] == [None, None, 1, 2]


def test_what_was_about_to_start_and_did_not_never_ran() -> None:
    log = read_log("/f", "aa", (BEGUN + started("k1", 1) + "@@aa x k1\n").encode())
    assert log.records["k1"].state is State.NEVER
    assert log.open is None


def test_what_a_command_left_running_is_noted_after_its_end() -> None:
    """Processes whose names have spaces, too; an older worker does not read that line."""
    text = BEGUN + started("k1", 1) + "@@aa e k1 0\n@@aa l k1 7(sleep) 9(tmux: server) +2\n"
    record = read_log("/f", "aa", text.encode()).records["k1"]
    assert (record.state, record.exit_code) == (State.ENDED, 0)
    assert record.left == ("7(sleep)", "9(tmux: server)", "+2")


def test_names_beside_the_log_say_what_it_could_not() -> None:
    text = BEGUN + started("R1-t0.2", 1)
    names = ("log", "o.1", "end.R1-t0.2.137", "why.R1-t0.2.timeout", "why.other.cancel")
    log = read_log("/f", "aa", text.encode(), names)
    record = log.records["R1-t0.2"]
    assert (record.state, record.exit_code, record.why) == (State.ENDED, 137, "timeout")


@given(command=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_command_comes_back_as_it_was(command: str) -> None:
    """Of any number of lines, and if it looks like a record of another log."""
    text = BEGUN + started("k1", 1, f"@@bb e k1 0\n{command}") + "@@aa e k1 0\n"
    log = read_log("/f", "aa", text.encode())
    assert log.records["k1"].command == f"@@bb e k1 0\n{command}"


def test_a_log_that_was_cut_is_read_as_far_as_it_goes() -> None:
    whole = (BEGUN + started("k1", 1) + "@@aa e k1 0\n").encode()
    for size in range(len(whole)):
        log = read_log("/f", "aa", whole[:size])
        if "k1" in log.records and size < len(whole) - 2:
            assert log.records["k1"].exit_code in (None, 0)


def test_stems_are_ordered_by_fence_and_count() -> None:
    stems = ["/r/t/1-0-1.10.1", "/r/t/1-0-1.9.2", "/r/t/1-0-1.9.10"]
    assert sorted(stems, key=lambda text: stem_of(text).generation) == [
        stems[1],
        stems[2],
        stems[0],
    ]


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("true", "-q"),
        (":", "-q"),
        ("test -f /etc/passwd", "-q"),
        ("[ ! -d /x -a 1 = 1 ]", "-q"),
        ("[ -x -vfile ]", "-q"),
        ("test -v HOME", "-"),
        ("[ ! -v N ]", "-"),
        ("[ -R N ]", "-"),
        ("test -p /dev/stdin", "-"),
        ("[ -e /dev/fd/3 ]", "-"),
        ("test -e /proc/self/exe", "-"),
        ("test -b /dev/sda", "-q"),
        ("[ -d /x", "-"),
        ("test -f $x", "-"),
        ("test -f ~/x", "-"),
        ("test -f /x; rm /x", "-"),
        ("test -f /x\nrm /x", "-"),
        ("true\n", "-"),
        ("true > x", "-"),
        ("testx", "-"),
        ("echo x", "-"),
        ("a && b || c >&2 2>&1 &>f", "-"),
        ("server &", "-b"),
        ("nohup server", "-b"),
        ("kill 0", "-s"),
        ("pkill x; skill", "-"),
        ("service x start & kill $!", "-sb"),
    ],
)
def test_what_a_runner_is_told_of_a_command(command: str, wanted: str) -> None:
    assert flags(command) == wanted
    assert flags(command, more=True) == wanted + "h" * ("q" in wanted)


def test_a_call_is_one_line_of_words_that_no_shell_reads_otherwise() -> None:
    assert call(RunnerVerb.RUN, "it's", 3) == b"r 'it'\\''s' '3' .\n"
