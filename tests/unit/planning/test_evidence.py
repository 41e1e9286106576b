"""The evidence is cleaned and kept within its limit, and failures stay in it longest."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.cause import Cause, CauseKind
from tests.unit.planning.given import attempt, bundle
from workers.llm.evidence import EVIDENCE_CHARS, clean, cut, evidence
from workers.llm.prompt_text import set_apart


def test_everything_is_there_when_there_is_room() -> None:
    text = evidence(bundle(earlier_revisions=("revision 0 by human: first",)), limit=60_000)
    for words in (
        "Step T7.1@web1 on web1: Install it",
        "Instruction: Install the server.",
        "Revision that failed: 0",
        "4 errors, the threshold is 4",
        "1. update: Refresh the lists",
        "needs: update",
        "T7.1.2#4@web1",
        "failed, exit 100, retry 3",
        "2026-01-01T12:00:00+00:00 to 2026-01-01T12:00:01+00:00",
        "E: Unable to locate package postgresql",
        "ran apt update before the install",
        "package postgresql is in the configured repositories",
        "revision 0 by human: first",
        "/dev/sda1 20G 4G 16G",
        "error_threshold_per_step: 4",
    ):
        assert words in text


def test_a_check_and_a_correction_are_told() -> None:
    tried = attempt(
        outcome="check_failed",
        exit_code=0,
        correction="apt.refresh",
        reason="the check is red",
        check_command="test -e /done",
        check_exit_code=1,
        check_output="no such file",
    )
    text = evidence(bundle(attempts=(tried,)), limit=60_000)
    assert "corrected by: apt.refresh" in text
    assert "reason: the check is red" in text
    assert "check (exit 1) $ test -e /done" in text
    assert "check output: no such file" in text


def test_what_is_wrong_on_the_host_comes_before_the_attempts() -> None:
    """Cleaned like all output; the first ones if there are many."""
    held = Cause(CauseKind.PORT_HELD, "8080", 2, by="legacy.service", pid=61)
    said = Cause(CauseKind.LOG_LINE, "/var/log/a.log", line="\x1b]0;pwn\x07full")
    many = tuple(Cause(CauseKind.PORT_CLOSED, str(port)) for port in range(1, 40))
    text = evidence(bundle(causes=(held, said, *many)))
    heading = "What is wrong on the machine, as it says itself:\n"
    told = text[text.index(heading) + len(heading) : text.index("Subtasks as planned")]
    assert told.startswith("- subtask 2: port 8080 is held by legacy.service (process 61)\n")
    assert "- the log /var/log/a.log says: full\n" in told
    assert told.count("nothing listens") == 18
    assert text.index(heading) < text.index("Attempts, oldest first")
    assert heading not in evidence(bundle())


def test_what_failed_is_kept_longer_than_what_went_well() -> None:
    noise = "fine " * 4000
    end = "E: the reason stands at the end"
    attempts = (
        attempt(1, outcome="ok", exit_code=0, stdout=noise, stderr=""),
        attempt(2, stdout=noise, stderr=noise + end),
    )
    text = evidence(bundle(attempts=attempts), limit=12_000)
    green, failed = text.split("- T7.1.2#2@web1")
    assert end in failed
    assert failed.count("fine") > 4 * green.count("fine")
    assert "characters left out" in text


def test_of_many_attempts_the_first_failed_and_the_newest_stay() -> None:
    attempts = tuple(
        attempt(number, outcome="ok" if number == 1 else "failed", stderr="x" * 3000)
        for number in range(1, 200)
    )
    text = evidence(bundle(attempts=attempts), limit=8000)
    assert len(text) <= 8000
    assert "T7.1.2#2@web1" in text
    assert "T7.1.2#199@web1" in text
    assert "T7.1.2#100@web1" not in text
    shown = len(re.findall(r"^- T7", text, re.MULTILINE))
    told = re.search(r"(\d+) attempts left out", text)
    assert told is not None
    assert shown + int(told[1]) == 199
    assert bundle().hypotheses[0] in text


def test_a_long_plan_and_a_long_snapshot_leave_room_for_what_failed() -> None:
    planned = replace(bundle().subtasks[0], command="x" * 3000)
    shown = bundle(
        subtasks=(planned,) * 60,
        snapshot={f"probe {number}": "y" * 1500 for number in range(60)},
        attempts=(attempt(stderr="noise\n" * 800 + "E: the reason stands at the end"),),
    )
    text = evidence(shown, limit=60_000)
    assert len(text) <= 60_000
    assert "E: the reason stands at the end" in text
    assert "Step T7.1@web1" in text


def test_of_a_long_plan_what_failed_is_kept_whole() -> None:
    """If not everything fits, successful subtasks are told in one line each, or only counted."""
    fine = replace(bundle().subtasks[0], command="fine " * 500, status="done")
    failed = replace(fine, ordinal=77, key="culprit", command="x" * 900 + " END", status="failed")
    for others, brief in ((60, True), (600, False)):
        planned = (*(fine,) * others, failed, *(fine,) * others)
        text = evidence(bundle(subtasks=planned, attempts=(attempt(stderr="e" * 50_000),)))
        assert len(text) <= EVIDENCE_CHARS
        assert "x" * 900 + " END" in text
        assert "e" * 3000 in text
        assert ("1. update [done] $ fine" in text) is brief
        assert (f"{2 * others} that did not fail are left out" in text) is not brief


def test_of_many_attempts_those_that_failed_stay_before_those_that_went_well() -> None:
    attempts = tuple(
        attempt(number, outcome="failed" if number in {3, 40, 90} else "ok", stderr="x" * 3000)
        for number in range(1, 200)
    )
    text = evidence(bundle(attempts=attempts), limit=5000)
    places = [text.index(f"- T7.1.2#{number}@web1") for number in (3, 40, 90)]
    assert places == sorted(places)
    assert len(text) <= 5000


def test_of_a_very_long_output_the_beginning_and_the_end_are_kept() -> None:
    long = "begins\n" + "\x1b[31mnoise\x1b[0m\r" * 100_000 + "\nE: the reason stands at the end"
    text = evidence(bundle(attempts=(attempt(stderr=long),)))
    assert "stderr: begins" in text
    assert "E: the reason stands at the end" in text
    assert "\x1b" not in text


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(max_size=50), st.integers(0, 20_000), st.sampled_from(["ok", "failed"])),
        max_size=30,
    ),
    st.integers(2_000, 60_000),
)
def test_the_limit_holds_whatever_was_printed(
    printed: list[tuple[str, int, str]], limit: int
) -> None:
    attempts = tuple(
        attempt(number, stdout=text * 10, stderr="y" * size, outcome=outcome)
        for number, (text, size, outcome) in enumerate(printed, 1)
    )
    snapshot = {"disk": "z" * 5000, "ports": "p" * 5000}
    assert len(evidence(bundle(attempts=attempts, snapshot=snapshot), limit=limit)) <= limit


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("dos\r\nline\r\n", "dos\nline\n"),
        ("nul\x00 bell\x07", "nul bell"),
        ("zero\u200bwidth \u202eevil", "zerowidth evil"),
        ("tag\U000e0041s", "tags"),
        ("half \ud800", "half "),
        ("ümlaut 漢字 🙂", "ümlaut 漢字 🙂"),
    ],
)
def test_what_cannot_be_seen_is_not_passed_on(raw: str, shown: str) -> None:
    assert clean(raw) == shown


@given(st.text(max_size=300), st.integers(0, 200))
def test_a_cut_text_keeps_its_beginning_and_its_end(text: str, limit: int) -> None:
    short = cut(text, limit)
    if len(text) <= limit:
        assert short == text
    else:
        assert f"{len(text) - limit} characters left out" in short
        assert len(short) <= limit + 50


@given(st.text())
def test_the_marks_cannot_stand_in_what_they_enclose(text: str) -> None:
    whole = set_apart("evidence", text).text
    opening, closing = whole.splitlines()[0], whole.rsplit("\n", 1)[1]
    assert closing == opening.replace("<", "</")
    assert whole == f"{opening}\n{text}\n{closing}"
    assert closing not in text
    assert opening not in text


def test_what_a_command_left_running_is_told() -> None:
    """A planner may have to end it, or to rely on it."""
    tried = attempt(outcome="ok", exit_code=0, left_running="left running: sleep (1234)")
    text = evidence(bundle(attempts=(tried, attempt(2))), limit=60_000)
    assert text.count("  left running: sleep (1234)\n") == 1
