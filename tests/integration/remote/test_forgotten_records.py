"""Numbers that are given out again: the host knows a claim that the database does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shared.domain.records import RecordsAnswer, SettledClaim
from tests.integration.remote.drivers import Driver, in_background, lines
from tests.integration.remote.shells import Machine
from tests.services.ring import eventually
from workers.passes.means import ForgottenError
from workers.shells.ports import Call, KnownClaims
from workers.shells.remote.shell import RunnerShell

TOKEN = "ab/abcdef"
KEY = "R1-1-r0-1-p1-t0"
NOTHING = KnownClaims()


@contextmanager
def driver(
    on: Machine,
    claim: str,
    claims: KnownClaims = NOTHING,
    *,
    place: str = "0-1",
    fence: int = 1,
    step: int = 1,
) -> Iterator[Driver]:
    """A driver of a pass of the run under that claim; the others are known as `claims` say."""
    made = Driver(on, fence, name=f"{TOKEN}-{step}-{place}", claim=claim, claims=claims)
    with made.pool:
        yield made
        made.gone.set()


def run(shell: RunnerShell, command: str, key: str = KEY) -> int | None:
    return shell.run(Call(command, 20, key=key)).exit_code


@pytest.mark.parametrize(
    ("place", "fence"),
    [("0-1", 1), ("0-1", 2), ("0-2", 1), ("1-2", 1), ("1-1", 1)],
    ids=["the same numbers", "a later fence", "a later pass", "a later revision", "a fork"],
)
def test_nothing_runs_beside_records_that_the_database_does_not_know(
    on: Machine, ledger: Path, place: str, fence: int
) -> None:
    with driver(on, "aa", place=place, fence=fence) as vanished:
        assert run(vanished.shell, f"echo before >>{ledger}; exit 3", "R1-1-r1-7-p2-t0") == 3
        vanished.die()
    with driver(on, "bb") as now, pytest.raises(ForgottenError) as raised:
        run(now.shell, f"echo now >>{ledger}")
    (record,) = raised.value.records
    assert (record.claim, f"{record.revision}-{record.pass_no}") == ("aa", place)
    assert (record.subtask, record.exit_code, record.running) == (7, 3, False)
    assert record.command == f"echo before >>{ledger}; exit 3"
    assert record.started_at is not None
    assert lines(ledger) == ["before"]


def test_what_has_begun_before_a_call_is_sent_ahead_is_not_begun_again(
    on: Machine, ledger: Path
) -> None:
    """The first calls of a pass go with the opening of its records, and are skipped then."""
    with driver(on, "aa") as vanished:
        assert run(vanished.shell, f"echo before >>{ledger}") == 0
        vanished.die()
    with driver(on, "bb") as now:
        now.shell.pipeline(Call(f"echo now >>{ledger}", 20, key=KEY) for _ in range(1))
        with pytest.raises(ForgottenError):
            run(now.shell, f"echo now >>{ledger}")
    assert lines(ledger) == ["before"]


def test_a_command_that_still_runs_goes_on_and_its_driver_starts_no_other(
    on: Machine, ledger: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    with driver(on, "aa", KnownClaims({"bb"})) as vanished:
        waits = f"echo first >>{ledger}; while [ ! -e {go} ]; do sleep 0.05; done"
        thread = in_background(vanished, waits, KEY)
        eventually(lambda: lines(ledger), "the start")
        with driver(on, "bb") as now, pytest.raises(ForgottenError) as raised:
            run(now.shell, "true")
        assert [record.running for record in raised.value.records] == [True]
        go.touch()
        thread.join(20)
        again = in_background(vanished, f"echo second >>{ledger}", "R1-1-r0-2-p1-t0")
        again.join(20)
    assert lines(ledger) == ["first"]


def test_records_of_a_known_claim_are_taken_over_as_ever(on: Machine, ledger: Path) -> None:
    with driver(on, "aa") as first:
        assert run(first.shell, f"echo once >>{ledger}; exit 4") == 4
        first.die()
    with driver(on, "bb", KnownClaims({"aa"}), fence=2) as second:
        assert run(second.shell, f"echo once >>{ledger}; exit 4") == 4
    assert lines(ledger) == ["once"]


def test_adopted_records_are_the_pass_s_own_whatever_their_fence(on: Machine, ledger: Path) -> None:
    with driver(on, "aa", fence=9) as vanished:
        assert run(vanished.shell, f"echo once >>{ledger}; exit 4") == 4
        vanished.die()
    said = KnownClaims(settled=[SettledClaim("aa", 1, RecordsAnswer.ADOPT)])
    with driver(on, "bb", said, fence=2) as second:
        assert run(second.shell, f"echo once >>{ledger}; exit 4") == 4
        assert run(second.shell, f"echo next >>{ledger}", "R1-1-r0-2-p1-t0") == 0
    assert lines(ledger) == ["once", "next"]


def test_discarded_records_do_not_count_in_the_next_pass(on: Machine, ledger: Path) -> None:
    with driver(on, "aa") as vanished:
        assert run(vanished.shell, f"echo run >>{ledger}") == 0
        vanished.die()
    said = KnownClaims(settled=[SettledClaim("aa", 1, RecordsAnswer.DISCARD)])
    with driver(on, "bb", said, place="0-2") as second:
        assert run(second.shell, f"echo run >>{ledger}") == 0
    assert lines(ledger) == ["run", "run"]


def test_a_clean_up_takes_everything_over_to_end_it(on: Machine, ledger: Path) -> None:
    """It starts nothing, so nobody has to be asked first."""
    with driver(on, "aa", KnownClaims({"bb"})) as vanished:
        thread = in_background(vanished, f"echo run >>{ledger}; sleep 60", KEY)
        eventually(lambda: lines(ledger), "the start")
        with driver(on, "bb", KnownClaims(adopt=True), fence=2) as clean_up:
            assert clean_up.shell.run(Call("true", 5, key="k")).ok
            ended = clean_up.shell.run(Call("true", 60, key=KEY), cancelled=lambda: True)
            assert ended.cancelled
        thread.join(20)
    assert lines(ledger) == ["run"]


def test_a_later_pass_asks_again_about_what_was_seen_before(on: Machine, ledger: Path) -> None:
    """What was said in pass 1 about the records of pass 2 says only that they are known of."""
    with driver(on, "aa", place="1-2") as vanished:
        assert run(vanished.shell, f"echo run >>{ledger}") == 0
        vanished.die()
    said = KnownClaims(settled=[SettledClaim("aa", 1, RecordsAnswer.ADOPT)])
    with driver(on, "bb", said) as first:
        assert run(first.shell, "true") == 0
    with driver(on, "cc", said, place="1-2") as second, pytest.raises(ForgottenError):
        run(second.shell, "true")


def test_records_of_another_step_are_the_business_of_its_own_driver(on: Machine) -> None:
    with driver(on, "aa", step=11) as vanished:
        assert run(vanished.shell, "true") == 0
    with driver(on, "bb", step=1) as now:
        assert run(now.shell, "true") == 0


def test_a_driver_that_has_started_nothing_leaves_nothing_to_ask_about(on: Machine) -> None:
    with driver(on, "aa") as vanished:
        assert vanished.shell.run(Call("true", 20)).ok
    with driver(on, "bb") as now:
        assert run(now.shell, "true") == 0
